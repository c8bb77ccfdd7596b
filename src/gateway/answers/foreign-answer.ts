import { headerField } from '../../relay/http/header-list.ts'
import { allowOrigin, exposeHeaders } from './cors.ts'

/**
 * Set on every answer of a model's server. It comes from the same origin as the chat page, which keeps a key, so in a
 * browser it must not run scripts or belong to that site. API clients ignore these fields.
 */
export const foreignAnswerFields = [
  allowOrigin,
  exposeHeaders,
  headerField('content-security-policy', "default-src 'none'; sandbox"),
  headerField('x-content-type-options', 'nosniff'),
] as const
