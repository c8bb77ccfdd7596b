import type { StructuralSchema } from './structural-schema.ts'

const text: StructuralSchema = { type: 'string' }
const time: StructuralSchema = { type: 'string', format: 'date-time' }
const count: StructuralSchema = { type: 'integer', format: 'int64' }
const texts: StructuralSchema = { type: 'object', additionalProperties: text }

const ownerReference: StructuralSchema = {
  type: 'object',
  required: ['apiVersion', 'kind', 'name', 'uid'],
  properties: {
    apiVersion: text,
    kind: text,
    name: text,
    uid: text,
    controller: { type: 'boolean' },
    blockOwnerDeletion: { type: 'boolean' },
  },
  'x-kubernetes-map-type': 'atomic',
  'x-sluice-type-name': 'io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference',
}

const managedField: StructuralSchema = {
  type: 'object',
  properties: {
    manager: text,
    operation: text,
    apiVersion: text,
    time,
    fieldsType: text,
    fieldsV1: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    subresource: text,
  },
  'x-sluice-type-name': 'io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry',
}

/** The metadata of any object; a CustomResourceDefinition only says that there is some. */
export const objectMetaFields: StructuralSchema = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: count,
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: count,
    labels: texts,
    annotations: texts,
    ownerReferences: {
      type: 'array',
      items: ownerReference,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'uid',
    },
    finalizers: {
      type: 'array',
      items: text,
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-patch-strategy': 'merge',
    },
    managedFields: { type: 'array', items: managedField, 'x-kubernetes-list-type': 'atomic' },
  },
  'x-sluice-type-name': 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
}
