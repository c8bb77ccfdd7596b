import { LlamaLogLevel, getLlama } from 'node-llama-cpp'

export const benchPrompt =
  '<|im_start|>user\nCount from 1 to 1000, separated by commas.<|im_end|>\n<|im_start|>assistant\n'

/** node-llama-cpp's own loop, which is the upper limit for anything built on it. */
export async function openRawLoop(file: string, threads: number) {
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    maxThreads: threads,
    logLevel: LlamaLogLevel.error,
  })
  const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 })
  const context = await model.createContext({ contextSize: 4096, threads, flashAttention: 'auto' })
  const sequence = context.getSequence()
  const prompt = model.tokenize(benchPrompt, true)
  return {
    /** Measured from the first token to the last. */
    async tokensPerSecond(tokens: number): Promise<number> {
      await sequence.clearHistory()
      let count = 0
      let startedAt = 0
      for await (const _ of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
        if (count === 0) startedAt = performance.now()
        count += 1
        if (count > tokens) break
      }
      return (count - 1) / ((performance.now() - startedAt) / 1000)
    },
    close: () => llama.dispose(),
  }
}
