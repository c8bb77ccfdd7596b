import { describe, expect, it } from 'vitest'
import { mayUseGpu } from './gpu/card-environment.ts'
import { cardsGiven, checkServeOptions, defaultThreads, flagsWithoutEffect } from './serve-options.ts'

const options = { modelPath: '/models/m', host: '127.0.0.1', port: 0 }

describe('serve options', () => {
  it.each([
    [undefined, 1],
    ['', 1],
    ['-1', 1],
    ['0', 1],
    ['0,1', 2],
    ['GPU-a, GPU-b,GPU-c', 3],
  ])('counts the cards of CUDA_VISIBLE_DEVICES=%s as %i', (value, cards) => {
    expect(cardsGiven({ CUDA_VISIBLE_DEVICES: value })).toBe(cards)
  })

  it('refuses a tensor-parallel size other than the cards given, with both numbers', () => {
    const check = () => checkServeOptions({ ...options, tensorParallelSize: 4 }, { CUDA_VISIBLE_DEVICES: '0,1' })
    expect(check).toThrow(/--tensor-parallel-size is 4, but the engine was given 2 cards/)
    expect(check).toThrow(expect.objectContaining({ code: 'engine_start_failed' }))
  })

  it('accepts a tensor-parallel size that equals the cards given, or none', () => {
    checkServeOptions({ ...options, tensorParallelSize: 2 }, { CUDA_VISIBLE_DEVICES: '0,1' })
    checkServeOptions({ ...options, tensorParallelSize: 1 }, {})
    expect(() => checkServeOptions(options, { CUDA_VISIBLE_DEVICES: '0,1' })).not.toThrow()
  })

  it.each([
    [{ gpuMemoryUtilization: 1.5 }, '--gpu-memory-utilization'],
    [{ gpuMemoryUtilization: 0 }, '--gpu-memory-utilization'],
    [{ numSchedulerSteps: 0 }, '--num-scheduler-steps'],
    [{ maxModelLen: 1.5 }, '--max-model-len'],
    [{ threads: 0 }, '--threads'],
    [{ port: 70_000 }, '--port'],
  ])('refuses %o, naming %s', (wrong, flag) => {
    expect(() => checkServeOptions({ ...options, ...wrong }, {})).toThrow(
      expect.objectContaining({ code: 'invalid_flag', message: expect.stringContaining(flag) }),
    )
  })

  it('leaves a core free, but always computes with one', () => {
    expect([1, 2, 8].map((cores) => defaultThreads(cores))).toEqual([1, 1, 7])
  })

  it.each([
    [{}, true],
    [{ CUDA_VISIBLE_DEVICES: '0,1' }, true],
    [{ CUDA_VISIBLE_DEVICES: '' }, false],
    [{ CUDA_VISIBLE_DEVICES: '-1' }, false],
    [{ CUDA_VISIBLE_DEVICES: '0', SLUICE_SIMULATED_CARDS: 'true' }, false],
  ])('with %o, a card may be used: %s', (environment, expected) => {
    expect(mayUseGpu(environment)).toBe(expected)
  })

  it('names the flags that change nothing on a CPU', () => {
    const given = { ...options, gpuMemoryUtilization: 0.9, trustRemoteCode: true }
    expect(flagsWithoutEffect(given, false)).toEqual(['--gpu-memory-utilization', '--trust-remote-code'])
    expect(flagsWithoutEffect(given, true)).toEqual(['--trust-remote-code'])
  })
})
