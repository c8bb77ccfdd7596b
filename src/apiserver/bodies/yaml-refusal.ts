import { StatusError } from '../../resources/status-error.ts'

/** The refusal of a manifest that cannot be read, in the words of the real server. */
export function badYaml(why: string, how = ''): StatusError {
  return new StatusError('BadRequest', `error ${how}decoding YAML: ${why}`)
}
