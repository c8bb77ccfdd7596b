import { coreSchema } from '../../resources/facts/core-facts.ts'
import type { Kind } from '../../resources/kind.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { ApplyPatch } from '../cluster-api.ts'
import { jsonPatch } from './json-patch.ts'
import { isJsonObject } from '../../resources/json-value.ts'
import { mergePatch } from './merge-patch.ts'
import { applyPatchType } from '../http/request-options.ts'
import { strategicMergePatch } from './strategic-merge-patch.ts'

/** How a patch of this media type changes an object; refuses formats that are not supported. */
export function patchOf(kind: Kind, mediaType: string, subresource: string | undefined, body: unknown): ApplyPatch {
  switch (mediaType) {
    case 'application/json-patch+json':
      return (current) => jsonPatch(current, body)
    case 'application/merge-patch+json':
      if (!isJsonObject(body)) throw new StatusError('BadRequest', 'a merge patch is an object')
      return (current) => mergePatch(current, body)
    case 'application/strategic-merge-patch+json':
      // Custom kinds have no merge keys, and the real server refuses this for custom resources, too.
      if (kind.origin === 'custom') throw unsupported(kind, mediaType)
      return (current) =>
        strategicMergePatch(
          subresource === 'scale' ? coreSchema('autoscaling', 'v1', 'Scale') : kind.fields(),
          current,
          body,
        )
    default:
      throw unsupported(kind, mediaType)
  }
}

function unsupported(kind: Kind, mediaType: string): StatusError {
  const strategic = kind.origin === 'custom' ? [] : ['application/strategic-merge-patch+json']
  const accepted = ['application/json-patch+json', 'application/merge-patch+json', ...strategic, applyPatchType].join(
    ', ',
  )
  const shown = mediaType === '' ? 'no media type' : mediaType.slice(0, 100)
  const message = `the body of the request was in an unknown format (${shown}) - accepted media types include: ${accepted}`
  return new StatusError('UnsupportedMediaType', message)
}
