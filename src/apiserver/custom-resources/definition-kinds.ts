import { type Kind, apiVersionOf } from '../../resources/kind.ts'
import { type KubernetesObject, kubernetesObjectSchema } from '../../resources/kubernetes-object.ts'
import { objectMetaFields } from '../../resources/object-meta-fields.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { compareVersions } from '../discovery/discovery.ts'
import { isJsonObject } from '../../resources/json-value.ts'
import { DefaultsTooLarge, applyDefaults } from '../structural/apply-defaults.ts'
import { prune } from '../structural/prune.ts'
import { type Definition, type Version, readDefinition } from './definition.ts'
import { ageColumns, printerColumn } from './printer-column.ts'

/** The kinds that a definition adds to a cluster: one for each served version, all stored in one of them. */
export function kindsOfDefinition(object: KubernetesObject): Kind[] {
  const definition = readDefinition(object)
  const storage = definition.versions.find((version) => version.storage)
  if (!storage) return []
  const revision = Number(object.metadata.resourceVersion ?? 0)
  const stored = kindOfVersion(definition, storage)
  const keep = storageOf(stored, revision)
  return definition.versions
    .filter(({ served }) => served)
    .map((version) => {
      const kind = version === storage ? stored : kindOfVersion(definition, version)
      return { ...kind, storage: { kind: stored, ...keep(apiVersionOf(kind)) } }
    })
}

function kindOfVersion(definition: Definition, version: Version): Kind {
  const { group, scope, names } = definition
  let fields: StructuralSchema | undefined
  return {
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    singular: names.singular,
    shortNames: names.shortNames,
    categories: names.categories,
    namespaced: scope === 'Namespaced',
    schema: kubernetesObjectSchema,
    fields: () => (fields ??= resourceFields(version.schema ?? {})),
    origin: 'custom',
    columns: (version.columns ?? ageColumns).map(printerColumn),
    hasStatus: version.hasStatus,
    ...(version.scale && { scale: scaleOf(version.scale) }),
    ...(version.selectableFields.length > 0 && {
      selectableFields: version.selectableFields.map((path) => path.replace(/^\./, '')),
    }),
    ...(version.deprecated && { deprecationWarning: deprecationOf(definition, version) }),
  }
}

function scaleOf({ specReplicasPath, statusReplicasPath, labelSelectorPath }: NonNullable<Version['scale']>) {
  return { specReplicasPath, statusReplicasPath, ...(labelSelectorPath !== undefined && { labelSelectorPath }) }
}

/** A definition says nothing more about metadata than that it exists. */
function resourceFields(schema: StructuralSchema): StructuralSchema {
  const text: StructuralSchema = { type: 'string' }
  return {
    ...schema,
    properties: { apiVersion: text, kind: text, ...schema.properties, metadata: objectMetaFields },
  }
}

function deprecationOf({ group, names, versions }: Definition, version: Version): string {
  if (version.deprecationWarning !== undefined) return version.deprecationWarning
  const newer = versions
    .filter(({ served, deprecated, name }) => served && !deprecated && compareVersions(name, version.name) < 0)
    .map(({ name }) => name)
    .sort(compareVersions)[0]
  const instead = newer === undefined ? '' : `; use ${group}/${newer} ${names.kind}`
  return `${group}/${version.name} ${names.kind} is deprecated${instead}`
}

/**
 * Objects are stored in one version, whichever version they are written in, with the fields of that version. Those
 * stored before the definition last changed are shown as if they had been stored after.
 */
function storageOf(stored: Kind, definitionRevision: number) {
  const storedVersion = apiVersionOf(stored)
  const shaped = (object: KubernetesObject): KubernetesObject => {
    const fields = stored.fields()
    const pruned = prune(fields, object, () => {})
    try {
      const value = applyDefaults(fields, pruned)
      return isSameShape(value) ? value : object
    } catch (error) {
      // What is stored stays readable, whatever its definition has become.
      if (error instanceof DefaultsTooLarge) return isSameShape(pruned) ? pruned : object
      throw error
    }
  }
  return (apiVersion: string) => ({
    toStored: (object: KubernetesObject) =>
      object.apiVersion === storedVersion ? object : shaped({ ...object, apiVersion: storedVersion }),
    fromStored: (object: KubernetesObject) => {
      const isOlder = Number(object.metadata.resourceVersion ?? 0) < definitionRevision
      const current = isOlder ? shaped(object) : object
      return current.apiVersion === apiVersion ? current : { ...current, apiVersion }
    },
  })
}

function isSameShape(value: unknown): value is KubernetesObject {
  return isJsonObject(value) && isJsonObject(value['metadata'])
}
