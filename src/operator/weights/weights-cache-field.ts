import { z } from 'zod'
import { quantity } from '../quantity-fields.ts'

/** As profiles and engines of a configuration file have it. */
export const weightsCacheField = z
  .strictObject({
    hostPath: z
      .string()
      .regex(/^\/[^/]/, 'must be the absolute path of a folder')
      .refine((path) => !path.split('/').includes('..'), 'must not contain ".."')
      .optional(),
    volume: z
      .looseObject({})
      .refine((source) => Object.keys(source).length === 1, 'must have one source, such as persistentVolumeClaim')
      .optional(),
    size: quantity,
    runAsUser: z.int().min(0).optional(),
  })
  .refine(
    ({ hostPath, volume }) => (hostPath === undefined) !== (volume === undefined),
    'needs either hostPath or volume',
  )
