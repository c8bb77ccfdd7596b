import { parentPort, workerData } from 'node:worker_threads'
import { StatusError } from '../../resources/status-error.ts'
import { hasMoreValuesThan, isDeeperThan } from '../../resources/json-value.ts'
import type { YamlAnswer, YamlTask } from './large-yaml.ts'
import { parseYaml } from './yaml-text.ts'

/** Deeper nesting is refused anyway and not counted further. */
const deepest = 128

/** The program of a thread that reads one text and ends. */
function answer({ text, mostValues }: YamlTask): YamlAnswer {
  try {
    const parsed = parseYaml(text)
    const tooMany = !isDeeperThan(parsed.value, deepest) && hasMoreValuesThan(parsed.value, mostValues)
    return tooMany ? { tooMany } : { parsed }
  } catch (error) {
    if (error instanceof StatusError) return { refused: error.message }
    throw error
  }
}

const task: YamlTask = workerData
parentPort?.postMessage(answer(task), [])
