import { pino } from 'pino'
import { openLlama } from '../llama/llama-backend.ts'
import { LoadedModel, loadNativeModel } from '../llama/native/loaded-model.ts'
import { readGgufHeader } from '../models/gguf-header.ts'

/** A model file in memory, without anything around it. */
export async function loadModelFile(file: string): Promise<LoadedModel> {
  const { signal } = new AbortController()
  const { addon } = await openLlama([], { gpu: false, log: pino({ level: 'silent' }), signal })
  const native = await loadNativeModel({ addon, file, gpuLayers: 0, onProgress: () => {}, signal })
  return new LoadedModel(addon, native, await readGgufHeader(file))
}
