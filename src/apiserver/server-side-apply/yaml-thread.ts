import { parentPort, workerData } from 'node:worker_threads'
import { StatusError } from '../../resources/status-error.ts'
import type { YamlAnswer } from './large-yaml.ts'
import { parseYaml } from './yaml-text.ts'

/** The program of a thread that reads one text and ends. */
function answer(text: string): YamlAnswer {
  try {
    return { parsed: parseYaml(text) }
  } catch (error) {
    if (error instanceof StatusError) return { refused: error.message }
    throw error
  }
}

parentPort?.postMessage(answer(String(workerData)), [])
