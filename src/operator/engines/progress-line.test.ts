import { describe, expect, it } from 'vitest'
import { builtInEngines } from './built-in-engines.ts'
import { progressLine, progressLineProblem } from './progress-line.ts'

describe('a line of a log that says how far a load is', () => {
  it.each([
    ['Loading safetensors checkpoint shards:   0% Completed | 0/160 [00:00<?, ?it/s]', 0],
    ['Loading safetensors checkpoint shards:  45% Completed | 72/160 [01:02<01:20,  1.10it/s]', 45],
    ['(EngineCore_0 pid=17) Loading pt checkpoint shards: 100% Completed | 2/2 [00:09<00:00,  4.8s/it]', 100],
    ['INFO 11-18 07:00:00 [gpu_model_runner.py:1595] Starting to load model m...', undefined],
  ])("of vLLM's: %j", (line, percent) => {
    const [template = ''] = builtInEngines.VLLM.progressLines
    expect(progressLine(template)(line)).toBe(percent)
  })

  it.each([
    ['shard {done} of {total}', 'T shard  3  of 8.', 37],
    ['{percent} %', 'at 99.97 % now', 99],
    ['{percent}%', 'up to 250%', 100],
    ['{done}/{total}', '1/0', undefined],
    ['[a+] (.*) {percent}%', 'x [a+] (.*) 7%', 7],
    ['[a+] (.*) {percent}%', 'x aaa bbb 7%', undefined],
  ])('%j', (template, line, percent) => {
    expect(progressLineProblem(template)).toBeUndefined()
    expect(progressLine(template)(line)).toBe(percent)
  })

  it.each(['no figure', '{done} of them', '{percent} {percent}', '{percent} {done}/{total}'])(
    '%j says too little or too much',
    (template) => {
      expect(progressLineProblem(template)).toBe('must have {percent}, or {done} and {total}, once')
    },
  )

  it('knows no other words', () => {
    expect(progressLineProblem('{part} {percent}')).toContain('{part} means nothing here')
  })
})
