import { describe, expect, it } from 'vitest'
import { formBoundary, readFormFields } from './form-fields.ts'

const part = (head: string, value: string) => `--B\r\n${head}\r\n\r\n${value}\r\n`
const field = (name: string, value: string) => part(`Content-Disposition: form-data; name="${name}"`, value)
const file = part(
  'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav',
  '\0\r\n--b\r\n',
)
const read = (body: string) => Object.fromEntries(readFormFields(Buffer.from(body), 'B', ['model', 'stream']))

describe('readFormFields', () => {
  it.each([
    ['before the file', `${field('model', 'tiny')}${file}--B--\r\n`, { model: 'tiny' }],
    [
      'after the file',
      `${file}${field('model', 'tiny')}${field('stream', 'true')}--B--`,
      { model: 'tiny', stream: 'true' },
    ],
    ['without quotes', `${part('content-disposition:form-data; name=model', 'tiny')}--B--`, { model: 'tiny' }],
    ['not at all', `${file}--B--`, {}],
    ['only as a file', `${part('Content-Disposition: form-data; name="model"; filename="m"', 'x')}--B--`, {}],
  ])('finds the model %s', (_case, body, fields) => {
    expect(read(body)).toEqual(fields)
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
