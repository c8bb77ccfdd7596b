import { SluiceError } from '../foundation/errors.ts'

const longestPartHeadBytes = 16_384
const longestValueBytes = 1_024
const mostParts = 256
const boundaryForm = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/

/** The boundary of a `multipart/form-data` content type; `undefined` when it is another type. */
export function formBoundary(contentType: string): string | undefined {
  const parameters = /^multipart\/form-data\s*;(.*)$/is.exec(contentType)?.[1]
  if (parameters === undefined) return undefined
  const match = /(?:^|;)\s*boundary=(?:"([^"]*)"|([^\s;"]+))\s*(?:;|$)/i.exec(parameters)
  const boundary = match?.[1] ?? match?.[2]
  return boundary !== undefined && boundaryForm.test(boundary) ? boundary : undefined
}

/**
 * The values of some text fields of a form. Strict where readers could disagree: a field that is there twice, a broken
 * frame or a missing end is refused, so that what was read here is what the model's server reads.
 */
export function readFormFields(body: Buffer, boundary: string, wanted: readonly string[]): Map<string, string> {
  const values = new Map<string, string>()
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  const opening = delimiter.subarray(2)
  if (!body.subarray(0, opening.length).equals(opening)) throw malformed('it does not begin with its boundary')
  let at = opening.length
  for (let parts = 0; ; parts++) {
    const mark = body.toString('latin1', at, at + 2)
    if (mark === '--') return values
    if (mark !== '\r\n') throw malformed('a boundary is followed by something else than a line end')
    if (parts >= mostParts) throw malformed(`it has more than ${mostParts} parts`)
    const headStart = at + 2
    const headEnd = body.subarray(headStart, headStart + longestPartHeadBytes).indexOf('\r\n\r\n')
    if (headEnd < 0) throw malformed("a part's head does not end")
    const name = fieldName(body.toString('utf8', headStart, headStart + headEnd))
    const valueStart = headStart + headEnd + 4
    const valueEnd = body.indexOf(delimiter, valueStart)
    if (valueEnd < 0) throw malformed('its last boundary is missing')
    if (name !== undefined && wanted.includes(name)) {
      if (values.has(name)) throw malformed(`the field ${name} is there twice`)
      if (valueEnd - valueStart > longestValueBytes) throw malformed(`the field ${name} is too long`)
      values.set(name, body.toString('utf8', valueStart, valueEnd))
    }
    at = valueEnd + delimiter.length
  }
}

/** `undefined` for files, and for parts that are not of a form. */
function fieldName(head: string): string | undefined {
  const dispositions = head.split('\r\n').filter((line) => /^content-disposition:/i.test(line))
  const [disposition] = dispositions
  if (disposition === undefined || dispositions.length > 1) throw malformed('a part does not say its field once')
  if (!/^content-disposition:\s*form-data\s*;/i.test(disposition) || /;\s*filename\*?=/i.test(disposition))
    return undefined
  const match = /;\s*name=(?:"([^"]*)"|([^\s;"]+))/i.exec(disposition)
  return match?.[1] ?? match?.[2]
}

function malformed(reason: string): SluiceError {
  return new SluiceError('invalid_request', { reason: `The form in the request body is malformed: ${reason}.` })
}
