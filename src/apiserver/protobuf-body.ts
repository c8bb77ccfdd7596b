import { StatusError } from '../resources/status-error.ts'
import { type Field, type FieldType, type Message, ProtobufError, readMessage } from './protobuf-wire.ts'

export const protobufType = 'application/vnd.kubernetes.protobuf'

const text: FieldType = { type: 'string' }
const int: FieldType = { type: 'int' }
const bool: FieldType = { type: 'bool' }
const time: FieldType = { type: 'time' }
const textMap: FieldType = { type: 'map', value: 'string' }
const bytesMap: FieldType = { type: 'map', value: 'bytes' }
const message = (fields: Message): FieldType => ({ type: 'message', message: fields })
const one = (name: string, of: FieldType): Field => ({ name, of })
const many = (name: string, of: FieldType): Field => ({ name, of, repeated: true })

const ownerReference: Message = new Map([
  [1, one('kind', text)],
  [3, one('name', text)],
  [4, one('uid', text)],
  [5, one('apiVersion', text)],
  [6, one('controller', bool)],
  [7, one('blockOwnerDeletion', bool)],
])

const objectMeta: Message = new Map([
  [1, one('name', text)],
  [2, one('generateName', text)],
  [3, one('namespace', text)],
  [5, one('uid', text)],
  [6, one('resourceVersion', text)],
  [8, one('creationTimestamp', time)],
  [11, one('labels', textMap)],
  [12, one('annotations', textMap)],
  [13, many('ownerReferences', message(ownerReference))],
  [14, many('finalizers', text)],
])

const metadata = one('metadata', message(objectMeta))

const servicePort: Message = new Map([
  [1, one('name', text)],
  [2, one('protocol', text)],
  [3, one('port', int)],
  [4, one('targetPort', { type: 'int-or-string' })],
  [5, one('nodePort', { type: 'count' })],
  [6, one('appProtocol', text)],
])

const serviceSpec: Message = new Map([
  [1, many('ports', message(servicePort))],
  [2, one('selector', textMap)],
  [3, one('clusterIP', text)],
  [4, one('type', text)],
  [5, many('externalIPs', text)],
  [7, one('sessionAffinity', text)],
  [10, one('externalName', text)],
  [13, one('publishNotReadyAddresses', bool)],
  [22, one('internalTrafficPolicy', text)],
])

/**
 * Some clients (`kubectl create namespace`, Helm's releases) write these kinds in protobuf whatever a server says. Answers are
 * always JSON, which they take; every other kind is refused in this format.
 */
const bodies: Readonly<Record<string, Message>> = {
  Namespace: new Map([[1, metadata]]),
  ConfigMap: new Map([
    [1, metadata],
    [2, one('data', textMap)],
    [3, one('binaryData', bytesMap)],
    [4, one('immutable', bool)],
  ]),
  Secret: new Map([
    [1, metadata],
    [2, one('data', bytesMap)],
    [3, one('type', text)],
    [4, one('stringData', textMap)],
    [5, one('immutable', bool)],
  ]),
  Service: new Map([
    [1, metadata],
    [2, one('spec', message(serviceSpec))],
  ]),
  DeleteOptions: new Map([
    [1, one('gracePeriodSeconds', int)],
    [
      2,
      one(
        'preconditions',
        message(
          new Map([
            [1, one('uid', text)],
            [2, one('resourceVersion', text)],
          ]),
        ),
      ),
    ],
    [3, one('orphanDependents', bool)],
    [4, one('propagationPolicy', text)],
    [5, many('dryRun', text)],
  ]),
}

const magic = Buffer.from('k8s\0')
const envelope: Message = new Map([
  [
    1,
    one(
      'typeMeta',
      message(
        new Map([
          [1, one('apiVersion', text)],
          [2, one('kind', text)],
        ]),
      ),
    ),
  ],
  [2, one('raw', { type: 'bytes' })],
])

/** A body in Kubernetes' protobuf envelope → the JSON it stands for. */
export function readProtobuf(body: Buffer): Record<string, unknown> {
  try {
    if (!body.subarray(0, magic.length).equals(magic)) throw new ProtobufError('the prefix is missing')
    const { typeMeta, raw } = readMessage(body.subarray(magic.length), envelope)
    const type: Record<string, unknown> = typeof typeMeta === 'object' && typeMeta !== null ? { ...typeMeta } : {}
    const { kind, apiVersion } = type
    const fields = typeof kind === 'string' && Object.hasOwn(bodies, kind) ? bodies[kind] : undefined
    if (!fields || (apiVersion !== 'v1' && kind !== 'DeleteOptions')) {
      const shown = [apiVersion, kind]
        .filter((part) => typeof part === 'string')
        .join(' ')
        .slice(0, 200)
      const message = `${shown || 'this kind'} is not served in ${protobufType} - accepted media types include: application/json`
      throw new StatusError('UnsupportedMediaType', message)
    }
    const content = readMessage(Buffer.from(typeof raw === 'string' ? raw : '', 'base64'), fields)
    return { apiVersion, kind, ...content }
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    throw new StatusError('BadRequest', `the body is not valid protobuf: ${error.message}`, {}, { cause: error })
  }
}
