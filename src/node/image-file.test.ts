import { describe, expect, it } from 'vitest'
import { parseImages } from './image-file.ts'
import { ImageStore } from './image-store.ts'

describe('parseImages', () => {
  it('adds images to the store', () => {
    const entries = parseImages({ 'r.test:5000/tool': { command: ['/bin/tool', '-x'], env: { A: 'b' } } }, '--config')
    expect(new ImageStore(entries).lookup('r.test:5000/tool:2')).toEqual({
      found: 'program',
      command: ['/bin/tool', '-x'],
      env: { A: 'b' },
    })
  })

  it.each([
    [['a'], '--config: images'],
    [{ a: { command: [] } }, 'images.a.command'],
    [{ a: { command: ['x'], entrypoint: 'y' } }, 'entrypoint'],
    [{ 'a:latest': { command: ['x'] } }, 'without tag'],
  ])('refuses %j', (value, message) => {
    expect(() => parseImages(value, '--config')).toThrow(message)
  })
})
