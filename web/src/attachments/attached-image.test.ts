import { expect, test } from 'vitest'
import { isImageUrl, MAX_URL_CHARACTERS, scaledSize } from './attached-image.ts'

test('pictures keep their shape, and small ones their size', () => {
  expect(scaledSize(4_000, 3_000)).toEqual({ width: 1_024, height: 768 })
  expect(scaledSize(100, 50)).toEqual({ width: 100, height: 50 })
  expect(scaledSize(100_000, 1)).toEqual({ width: 1_024, height: 1 })
  expect(scaledSize(0, 0)).toEqual({ width: 1, height: 1 })
})

test('only pictures are pictures', () => {
  expect(isImageUrl('data:image/jpeg;base64,/9j/4AAQ==')).toBe(true)
  for (const url of [
    '',
    'https://e.org/a.png',
    'javascript:alert(1)',
    'data:text/html;base64,AAAA',
    'data:image/svg+xml;base64,AAAA',
    'data:image/png;base64,<script>',
    `data:image/png;base64,${'A'.repeat(MAX_URL_CHARACTERS)}`,
  ]) {
    expect(isImageUrl(url)).toBe(false)
  }
})
