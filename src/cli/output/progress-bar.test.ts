import { describe, expect, it } from 'vitest'
import { ProgressBar } from './progress-bar.ts'

function output(more: { isTTY?: boolean; columns?: number } = {}) {
  const written: string[] = []
  return { ...more, written, write: (text: string) => written.push(text) > 0 }
}

describe('a progress bar', () => {
  it('is one line of a terminal, which is written over when something else is to be seen', () => {
    const terminal = output({ isTTY: true, columns: 80 })
    const bar = new ProgressBar(terminal, 'llama')
    for (const bytes of [10e6, 10.1e6, 50e6, 100e6]) bar.show(bytes, 100e6)
    bar.finish()
    expect(terminal.written).toEqual([
      `\r[███${' '.repeat(27)}] llama  10 %  10 of 100 MB `,
      `\r[${'█'.repeat(15)}${' '.repeat(15)}] llama  50 %  50 of 100 MB `,
      `\r[${'█'.repeat(30)}] llama  100 %  100 of 100 MB `,
      '\n',
    ])
  })

  it('is not shown for what is done in a moment', () => {
    const terminal = output({ isTTY: true })
    const { forLongWork } = new ProgressBar(terminal, 'backup')
    forLongWork(1e6, 2e6)
    expect(terminal.written).toEqual([])
    forLongWork(1e6, 200e6)
    expect(terminal.written).toHaveLength(1)
  })

  it('does not wrap, however long the name is', () => {
    const terminal = output({ isTTY: true, columns: 40 })
    new ProgressBar(terminal, 'a-very-long-name-of-a-model').show(1, 2)
    expect(terminal.written[0]).toHaveLength(40)
  })

  it('is a plain line for every tenth in a pipe', () => {
    const pipe = output()
    const bar = new ProgressBar(pipe, 'llama')
    for (const percent of [1, 2, 15, 19, 100]) bar.show(percent * 1e6, 100e6)
    bar.finish()
    expect(pipe.written).toEqual([
      'llama  1 %  1 of 100 MB\n',
      'llama  15 %  15 of 100 MB\n',
      'llama  100 %  100 of 100 MB\n',
    ])
  })
})
