import { SluiceError } from '../../foundation/errors.ts'
import { parseQuantity } from '../../resources/quantity.ts'

/** For example `cpu=4,memory=16Gi,nvidia.com/gpu-l40s=1`. */
export function parseQuota(text: string): Record<string, string> {
  const quota: Record<string, string> = {}
  for (const part of text.split(',').map((word) => word.trim())) {
    const [resource = '', amount = '', ...rest] = part.split('=')
    const isAmount = (parseQuantity(amount) ?? -1) >= 0
    if (resource === '' || !isAmount || rest.length > 0) {
      throw refused(`"${part}" is not of the form RESOURCE=AMOUNT, such as memory=16Gi.`)
    }
    if (Object.hasOwn(quota, resource)) throw refused(`${resource} is given twice.`)
    quota[resource] = amount
  }
  return quota
}

function refused(reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag: '--quota', reason })
}
