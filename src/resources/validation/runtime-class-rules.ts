import { isDeepStrictEqual } from 'node:util'
import { type FieldError, duplicate, faultsOfEach } from '../field-error.ts'
import { type Json, listIn, objectIn, textEntriesIn, textIn } from './json-access.ts'
import { checkDnsLabel, checkLabels } from './name-syntax.ts'
import { checkTolerations } from './pod-rules.ts'
import { checkContainerResources } from './resource-rules.ts'

export function checkRuntimeClass(runtimeClass: Json): FieldError[] {
  const overhead = objectIn(runtimeClass, 'overhead')
  const scheduling = objectIn(runtimeClass, 'scheduling')
  const tolerations = listIn(scheduling, 'tolerations')
  return [
    ...checkDnsLabel('handler', textIn(runtimeClass, 'handler')),
    ...checkContainerResources('overhead', { limits: objectIn(overhead, 'podFixed') }),
    ...checkLabels('scheduling.nodeSelector', textEntriesIn(scheduling, 'nodeSelector')),
    // A real API server names the field like this.
    ...checkTolerations('scheduling.tolerations.tolerations', tolerations),
    ...faultsOfEach(tolerations, (toleration, index) => {
      const isRepeated = tolerations.slice(0, index).some((other) => isDeepStrictEqual(other, toleration))
      return isRepeated ? [duplicate(`scheduling.tolerations[${index}]`, toleration)] : []
    }),
  ]
}
