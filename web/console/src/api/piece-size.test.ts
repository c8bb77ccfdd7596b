import { expect, it } from 'vitest'
import { PieceSize } from './piece-size.ts'

it('pieces grow on a fast line, shrink on a slow one and after a failure, and have bounds', () => {
  const size = new PieceSize()
  const after = (act: () => void, times = 1) => {
    for (let time = 0; time < times; time += 1) act()
    return size.bytes / 1024
  }
  expect(after(() => size.took(100))).toBe(512)
  expect(after(() => size.took(1_000))).toBe(512)
  expect(after(() => size.took(100), 20)).toBe(16 * 1024)
  expect(after(() => size.took(5_000))).toBe(8 * 1024)
  expect(after(() => size.failed())).toBe(2 * 1024)
  expect(after(() => size.failed(), 20)).toBe(64)
})
