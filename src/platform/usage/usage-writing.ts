import { randomBytes } from 'node:crypto'
import type { Metrics } from '../../foundation/metrics.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { UsageWriter, type UsageWriterOptions } from '../../usage/usage-writer.ts'

/** Leaves room for the day in a name of 253 characters. */
const longestWriter = 200

interface UsageWritingOptions extends Pick<UsageWriterOptions, 'client' | 'writer' | 'clock' | 'log'> {
  readonly room: 'gateway' | 'autoscaler'
  readonly metrics: Metrics
}

/** Writes usage down as `writer`: of a role of which there are several, each has a name of its own. */
export function usageWriter({ room, metrics, ...options }: UsageWritingOptions): UsageWriter {
  const failures = metrics.counter(
    `sluice_${room}_usage_write_failures_total`,
    'Writes of usage records that failed; what they were about is kept and tried again.',
  )
  return new UsageWriter({
    ...options,
    writer: partOfName(options.writer),
    namespace: gatewayNamespace,
    run: randomBytes(8).toString('hex'),
    onFailure: () => failures.inc(),
  })
}

/** Host names may have capital letters and underscores, names of objects may not. */
function partOfName(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-').slice(0, longestWriter).replaceAll(/^-+|-+$/g, '') // prettier-ignore
}
