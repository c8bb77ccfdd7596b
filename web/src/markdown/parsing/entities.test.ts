import { expect, test } from 'vitest'
import { decodeEntities } from './entities.ts'

test.each([
  ['&copy; 2026 &ndash; R&amp;D', '© 2026 – R&D'],
  ['&#65;&#x1F600;&#X41;', 'A😀A'],
  ['&lt;script&gt;', '<script>'],
  ['&nosuch; &amp &; &#; &#xG;', '&nosuch; &amp &; &#; &#xG;'],
  ['&#0;&#xD800;&#x110000;', '\ufffd\ufffd\ufffd'],
  ['&amp;lt;', '&lt;'],
  ['', ''],
])('%s', (written, shown) => {
  expect(decodeEntities(written)).toBe(shown)
})
