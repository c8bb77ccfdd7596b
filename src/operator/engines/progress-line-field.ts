import { z } from 'zod'
import { progressLineProblem } from './progress-line.ts'

/** A line of a log that says how far a load is. */
export const progressLineField = z
  .string()
  .min(1)
  .max(200)
  .superRefine((text, context) => {
    const message = progressLineProblem(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
