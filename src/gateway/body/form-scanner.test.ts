import { describe, expect, it } from 'vitest'
import { FormScanner, formBoundary } from './form-scanner.ts'

const part = (head: string, value: string) => `--B\r\n${head}\r\n\r\n${value}\r\n`
const field = (name: string, value: string) => part(`Content-Disposition: form-data; name="${name}"`, value)
const file = part(
  'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav',
  '\0\r\n--b\r\n',
)

function read(body: string, pieceBytes = body.length) {
  const form = new FormScanner('B')
  const bytes = Buffer.from(body)
  let passed = 0
  for (; passed < bytes.length; passed += pieceBytes) {
    if (form.push(bytes.subarray(passed, passed + pieceBytes))) break
  }
  form.finish()
  return { model: form.model, streamed: form.streamed, passed }
}

describe('FormScanner', () => {
  it.each([
    ['before the file', `${field('model', 'tiny')}${file}--B--\r\n`, 'tiny', false],
    ['after the file', `${file}${field('model', 'tiny')}${field('stream', 'true')}--B--`, 'tiny', true],
    ['without quotes', `${part('content-disposition:form-data; name=model', 'tiny')}--B--`, 'tiny', false],
    ['not at all', `${file}--B--`, undefined, false],
    [
      'only as a file',
      `${part('Content-Disposition: form-data; name="model"; filename="m"', 'x')}--B--`,
      undefined,
      false,
    ],
  ])('finds the model %s, however the form is cut into pieces', (_case, body, model, streamed) => {
    for (const pieceBytes of [1, 2, 3, 7, 50, body.length]) {
      expect(read(body, pieceBytes)).toMatchObject({ model, streamed })
    }
  })

  it('has seen enough as soon as a file follows the model, whatever comes after it', () => {
    const before = field('prompt', 'p') + field('model', 'tiny') + field('language', 'en')
    const head = part('Content-Disposition: form-data; name="file"; filename="a.wav"', '').slice(0, -2)
    const { passed } = read(`${before}${head}${'x'.repeat(1_000)}`, 1)
    expect(passed).toBe(before.length + head.length - 1)
  })

  it('does not look through endless text for what may not come', () => {
    const form = new FormScanner('B')
    form.push(Buffer.from(field('model', 'tiny') + part('Content-Disposition: form-data; name="prompt"', '')))
    let pieces = 1
    while (!form.push(Buffer.alloc(10_000, 120))) pieces++
    expect(pieces).toBe(7)
  })

  it('keeps nothing of a file it passes but what may begin a boundary', () => {
    const form = new FormScanner('B')
    form.push(Buffer.from(file.slice(0, -2)))
    for (let pieces = 0; pieces < 100; pieces++) {
      form.push(Buffer.from('x'.repeat(pieces) + '\r\n--'))
      expect(form.heldBytes).toBeLessThan('\r\n--B'.length)
    }
    expect(form.push(Buffer.from(`\r\n${field('model', 'tiny')}--B--`))).toBe(true)
    expect(form.model).toBe('tiny')
  })

  it.each([
    ['empty', ''],
    ['another boundary', `${field('model', 'tiny').replace('--B', '--C')}--C--`],
    ['a preamble', `hello\r\n${field('model', 'tiny')}--B--`],
    ['no end', field('model', 'tiny')],
    ['an unfinished part', '--B\r\nContent-Disposition: form-data; name="model"'],
    ['the field twice', `${field('model', 'tiny')}${field('model', 'other')}--B--`],
    ['a part without a name', `${part('Content-Type: text/plain', 'tiny')}--B--`],
    [
      'two names for one part',
      `${part('Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="model"', 'x')}--B--`,
    ],
    ['a value without end', `${field('model', 'x'.repeat(2_000))}--B--`],
    ['something after a boundary', `--Bx\r\n\r\n\r\n--B--`],
    ['too many parts', `${field('a', 'b').repeat(300)}--B--`],
  ])('refuses a form with %s', (_case, body) => {
    expect(() => read(body)).toThrow('malformed')
  })
})

describe('formBoundary', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data; charset=utf-8; Boundary="a b"', 'a b'],
    ['multipart/form-data', undefined],
    ['multipart/form-data; boundary=', undefined],
    [`multipart/form-data; boundary=${'x'.repeat(71)}`, undefined],
    ['application/json; boundary=abc', undefined],
  ])('%s: %s', (contentType, boundary) => {
    expect(formBoundary(contentType)).toBe(boundary)
  })
})
