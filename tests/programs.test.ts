import { expect, it } from 'vitest'
import { runProgram } from './support/programs.ts'

it('a program that ends before it has read what it is given has not failed', async () => {
  const unread = 'x'.repeat(1_000_000)
  expect(await runProgram('true', [], unread)).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(await runProgram('false', [], unread)).toMatchObject({ code: 1 })
})
