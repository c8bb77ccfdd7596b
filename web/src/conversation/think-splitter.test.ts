import { expect, test } from 'vitest'
import { splitThinking } from './think-splitter.ts'

test('takes the section off the start', () => {
  expect(splitThinking('<think>\nFrance… Paris.\n</think>\n\nParis.')).toEqual({
    thinking: 'France… Paris.',
    stillThinking: false,
    answer: 'Paris.',
  })
})

test('an answer without one is left as it is', () => {
  expect(splitThinking('  Paris <think>not here</think>')).toEqual({
    thinking: '',
    stillThinking: false,
    answer: '  Paris <think>not here</think>',
  })
  expect(splitThinking('')).toEqual({ thinking: '', stillThinking: false, answer: '' })
})

test('an empty section leaves the answer alone', () => {
  expect(splitThinking('<think>\n\n</think>\n\nParis.')).toEqual({
    thinking: '',
    stillThinking: false,
    answer: 'Paris.',
  })
})

test('while the text grows no tag or part of one is ever seen, and nothing seen is taken back', () => {
  const whole = '\n<think>a < b </b></think>\nIt is < 3.'
  let thinking = ''
  let answer = ''
  for (let length = 1; length <= whole.length; length++) {
    const now = splitThinking(whole.slice(0, length))
    expect(now.thinking + now.answer).not.toMatch(/<\/?t/)
    expect(now.thinking.startsWith(thinking.replace(/\s*<?\/?$/, ''))).toBe(true)
    expect(now.answer.startsWith(answer)).toBe(true)
    ;({ thinking, answer } = now)
  }
  expect({ thinking, answer }).toEqual({ thinking: 'a < b </b>', answer: 'It is < 3.' })
})

test('a section that never ends is all thinking', () => {
  expect(splitThinking('<think>on and on')).toEqual({ thinking: 'on and on', stillThinking: true, answer: '' })
})
