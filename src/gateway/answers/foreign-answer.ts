import { headerField } from '../../relay/http/header-list.ts'
import { allowOrigin, exposeHeaders } from './cors.ts'

/**
 * On every answer of a model's server, whatever it says itself. It comes from the address where the chat page keeps its
 * key: opened in a browser, it is in no site and runs nothing. Programs that read it do not care. They are the same
 * each time, so they cost nothing.
 */
export const foreignAnswerFields = [
  allowOrigin,
  exposeHeaders,
  headerField('content-security-policy', "default-src 'none'; sandbox"),
  headerField('x-content-type-options', 'nosniff'),
] as const
