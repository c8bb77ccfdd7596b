import { type FieldError, duplicate, faultsOfEach, forbidden, invalid, required } from '../field-error.ts'
import { type Json, isObject, listIn, objectIn, textIn } from './json-access.ts'
import { checkInnerPath } from './container-rules.ts'
import { checkDnsLabel } from './name-syntax.ts'

/** The volumes of a Pod, and the names under which containers can mount them. */
export function checkVolumes(field: string, volumes: readonly unknown[]): { errors: FieldError[]; names: Set<string> } {
  const names = new Set<string>()
  const errors = faultsOfEach(volumes, (volume, index) => {
    const here = `${field}[${index}]`
    const name = textIn(volume, 'name')
    const sources = checkSources(here, isObject(volume) ? volume : {})
    const syntax = name === '' ? [required(`${here}.name`)] : checkDnsLabel(`${here}.name`, name)
    const taken = names.has(name) ? [duplicate(`${here}.name`, name)] : []
    if (sources.length === 0 && syntax.length === 0) names.add(name)
    return [...sources, ...(syntax.length > 0 ? syntax : taken)]
  })
  return { errors, names }
}

function checkSources(field: string, volume: Json): FieldError[] {
  const given = Object.keys(volume).filter((source) => source !== 'name' && isObject(volume[source]))
  const [first, ...others] = given.sort((left, right) => rankOf(left) - rankOf(right))
  const more = others.map((source) => forbidden(`${field}.${source}`, 'may not specify more than 1 volume type'))
  const rule = first === undefined ? undefined : sourceRules[first]
  return [...(rule?.(`${field}.${first}`, objectIn(volume, first ?? '') ?? {}) ?? []), ...more]
}

/** The order in which sources are checked: the first counts, the others are too many. */
function rankOf(source: string): number {
  return source === 'emptyDir' ? 0 : source === 'hostPath' ? 1 : 2
}

const sourceRules: Readonly<Record<string, (field: string, source: Json) => FieldError[]>> = {
  hostPath: (field, source) => {
    const path = textIn(source, 'path')
    if (path === '') return [required(`${field}.path`)]
    return path.split('/').includes('..') ? [invalid(`${field}.path`, path, "must not contain '..'")] : []
  },
  secret: (field, source) => [
    ...(textIn(source, 'secretName') === '' ? [required(`${field}.secretName`)] : []),
    ...checkItems(`${field}.items`, source),
  ],
  configMap: (field, source) => [
    ...(textIn(source, 'name') === '' ? [required(`${field}.name`)] : []),
    ...checkItems(`${field}.items`, source),
  ],
  persistentVolumeClaim: (field, source) =>
    textIn(source, 'claimName') === '' ? [required(`${field}.claimName`)] : [],
  ephemeral: (field, source) =>
    objectIn(source, 'volumeClaimTemplate') ? [] : [required(`${field}.volumeClaimTemplate`)],
  csi: (field, source) => (textIn(source, 'driver') === '' ? [required(`${field}.driver`)] : []),
}

function checkItems(field: string, source: Json): FieldError[] {
  return faultsOfEach(listIn(source, 'items'), (item, index) => {
    const here = `${field}[${index}]`
    const path = textIn(item, 'path')
    const errors = textIn(item, 'key') === '' ? [required(`${here}.key`)] : []
    return [...errors, ...(path === '' ? [required(`${here}.path`)] : checkInnerPath(`${here}.path`, path))]
  })
}
