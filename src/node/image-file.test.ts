import { describe, expect, it } from 'vitest'
import { parseImageFile } from './image-file.ts'
import { ImageStore } from './image-store.ts'

const parse = (value: unknown) => parseImageFile(typeof value === 'string' ? value : JSON.stringify(value), '--images')

describe('parseImageFile', () => {
  it('adds images to the store', () => {
    const entries = parse({ images: { 'r.test:5000/tool': { command: ['/bin/tool', '-x'], env: { A: 'b' } } } })
    expect(new ImageStore(entries).lookup('r.test:5000/tool:2')).toEqual({
      found: 'program',
      command: ['/bin/tool', '-x'],
      env: { A: 'b' },
    })
  })

  it.each([
    ['{', '--images'],
    [{}, 'images'],
    [{ images: { a: { command: [] } } }, 'images.a.command'],
    [{ images: { a: { command: ['x'], entrypoint: 'y' } } }, 'entrypoint'],
    [{ images: { 'a:latest': { command: ['x'] } } }, 'without tag'],
  ])('refuses %j', (value, message) => {
    expect(() => parse(value)).toThrow(message)
  })
})
