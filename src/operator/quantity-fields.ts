import { z } from 'zod'
import { canonicalQuantity } from '../resources/canonical-quantity.ts'

/** A quantity in a configuration file, where YAML may have read a number. */
export const quantity = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => /^\d/.test(text) && canonicalQuantity(text) !== undefined, 'must be a quantity such as 500m or 4Gi')

export const quantities = z.record(z.string(), quantity)

/** The size of /dev/shm. */
export const sharedMemoryField = z.union(
  [z.literal('unlimited'), quantity],
  'must be unlimited, or a quantity such as 16Gi',
)
