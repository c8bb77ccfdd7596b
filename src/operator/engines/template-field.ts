import { z } from 'zod'
import { adapterPlaceholders, groupPlaceholders, placeholders, unknownPlaceholder } from './placeholders.ts'

/** A text in which words in braces are filled in. Others than those that are known are refused. */
export const templateField = textWith(placeholders)

/** One that only members of a serving group have. */
export const groupTemplateField = textWith([...placeholders, ...groupPlaceholders])

/** One that is written for each adapter. */
export const adapterTemplateField = textWith(adapterPlaceholders)

function textWith(words: readonly string[]) {
  return z
    .string()
    .max(4096)
    .superRefine((text, context) => {
      const word = unknownPlaceholder(text, words)
      if (word === undefined) return
      const known = words.map((name) => `{${name}}`).join(', ')
      context.addIssue({ code: 'custom', message: `{${word}} means nothing here; known are ${known}` })
    })
}
