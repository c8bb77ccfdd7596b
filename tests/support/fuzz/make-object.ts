import { coreKinds, customKinds } from '../../../src/resources/all-kinds.ts'
import { configMapKind } from '../../../src/resources/config-map.ts'
import { deploymentKind } from '../../../src/resources/deployment.ts'
import { jobKind } from '../../../src/resources/job.ts'
import { apiVersionOf, type Kind } from '../../../src/resources/kind.ts'
import { leaseKind } from '../../../src/resources/lease.ts'
import { modelKind } from '../../../src/resources/model.ts'
import { persistentVolumeClaimKind } from '../../../src/resources/persistent-volume-claim.ts'
import { podKind } from '../../../src/resources/pod.ts'
import { replicaSetKind } from '../../../src/resources/replica-set.ts'
import { secretKind } from '../../../src/resources/secret.ts'
import { serviceExporterKind } from '../../../src/resources/service-exporter.ts'
import { serviceKind } from '../../../src/resources/service.ts'
import { statefulSetKind } from '../../../src/resources/stateful-set.ts'
import { acceptedManifests } from '../../kubernetes/core-manifests.ts'
import {
  type ContainerProgram,
  anyProgram,
  endingProgram,
  listeningPorts,
  stayingProgram,
} from './container-programs.ts'
import type { Dice } from './dice.ts'
import type { WantedObject, WantedPods } from './wanted-object.ts'

/** A manifest to send, and what the fuzzer then expects to exist. */
export interface NewManifest {
  readonly wanted: WantedObject
  readonly body: Readonly<Record<string, unknown>>
}

/** Where objects are made. `namespaces` come and go; Models are in the gateway's namespace. */
export interface Surroundings {
  readonly registry: string
  readonly card: string
  readonly namespaces: readonly string[]
  /** Unique within a run. */
  readonly name: string
}

export function podTemplate(program: ContainerProgram, cards: number, { registry, card, name }: Surroundings) {
  return {
    metadata: { labels: { fuzz: name } },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          image: `${registry}/tools/shell:1`,
          command: [...program.command],
          ...(program.listensOn !== undefined && { ports: [{ containerPort: program.listensOn }] }),
          ...(cards > 0 && { resources: { limits: { [card]: String(cards) } } }),
        },
      ],
    },
  }
}

export function makeObject(dice: Dice, around: Surroundings): NewManifest {
  const make = dice.weighted<(dice: Dice, around: Surroundings) => NewManifest>([
    [24, barePod],
    [14, replicated],
    [8, job],
    [10, plainObject],
    [4, service],
    [2, failingModel],
    [2, exporter],
    [10, anyKind],
  ])
  return (make ?? barePod)(dice, around)
}

function barePod(dice: Dice, around: Surroundings): NewManifest {
  const program = anyProgram(dice)
  const restartPolicy = dice.pick(['Always', 'OnFailure', 'Never'] as const) ?? 'Always'
  const cards = dice.chance(0.25) ? dice.between(1, 2) : 0
  const template = podTemplate(program, cards, around)
  const pods: WantedPods = { program, restartPolicy, cards, replicas: 1, mixed: false }
  return manifest(
    podKind,
    around,
    dice,
    { spec: { ...template.spec, restartPolicy } },
    { pods, labels: template.metadata.labels },
  )
}

function replicated(dice: Dice, around: Surroundings): NewManifest {
  const kind =
    dice.weighted<Kind>([
      [6, deploymentKind],
      [2, replicaSetKind],
      [3, statefulSetKind],
    ]) ?? deploymentKind
  const program = anyProgram(dice)
  const cards = dice.chance(0.1) ? 1 : 0
  const replicas = dice.between(0, 4)
  const pods: WantedPods = { program, restartPolicy: 'Always', cards, replicas, mixed: false }
  const spec = {
    replicas,
    selector: { matchLabels: { fuzz: around.name } },
    template: podTemplate(program, cards, around),
    ...(kind === statefulSetKind && { serviceName: around.name }),
  }
  return manifest(kind, around, dice, { spec }, { pods })
}

function job(dice: Dice, around: Surroundings): NewManifest {
  const program = dice.chance(0.7) ? endingProgram(dice) : stayingProgram(dice)
  const template = podTemplate(program, 0, around)
  const pods: WantedPods = { program, restartPolicy: 'Never', cards: 0, replicas: dice.between(1, 3), mixed: false }
  const spec = {
    parallelism: pods.replicas,
    completions: pods.replicas,
    backoffLimit: 0,
    template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } },
  }
  return manifest(jobKind, around, dice, { spec }, { pods })
}

function plainObject(dice: Dice, around: Surroundings): NewManifest {
  const value = 'x'.repeat(dice.chance(0.1) ? 100_000 : dice.between(0, 200))
  const choices: ReadonlyArray<readonly [Kind, Record<string, unknown>]> = [
    [configMapKind, { data: { value } }],
    [secretKind, { data: { value: Buffer.from(value).toString('base64') } }],
    [leaseKind, { spec: { holderIdentity: value.slice(0, 20), leaseDurationSeconds: 15 } }],
    [
      persistentVolumeClaimKind,
      { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } } },
    ],
  ]
  const [kind, fields] = dice.pick(choices) ?? [configMapKind, {}]
  // A claim gets more fields when it is bound, so its fields are not compared.
  const kept = kind === persistentVolumeClaimKind ? {} : fields
  return manifest(kind, around, dice, fields, { fields: kept })
}

function service(dice: Dice, around: Surroundings): NewManifest {
  const port = dice.pick(listeningPorts) ?? 80
  const spec = { selector: { fuzz: around.name }, ports: [{ port, targetPort: port }] }
  return manifest(serviceKind, around, dice, { spec }, {})
}

/** A Model whose file does not exist: it fails, takes no card and starts nothing. */
function failingModel(_dice: Dice, around: Surroundings): NewManifest {
  const spec = { url: 'pvc://userdata/models/none', engine: 'LlamaCpp', minReplicas: 1, resourceProfile: 'default:1' }
  const wanted = { kind: modelKind, namespace: 'sluice', name: around.name, fields: {}, kills: 0 }
  return { wanted, body: { metadata: { name: around.name, namespace: 'sluice' }, spec } }
}

function exporter(dice: Dice, around: Surroundings): NewManifest {
  return manifest(serviceExporterKind, around, dice, { spec: { serviceName: 'nobody', servicePort: 80 } }, {})
}

const kinds = [...coreKinds, ...customKinds]

/** Quotas are in a namespace of their own, because elsewhere they would refuse what others create. */
export const quotaNamespace = 'quotas'

/** Kinds that must be in a certain namespace. An Event is in the namespace of the object that it is about. */
const fixedNamespaces = new Map([
  ['resourcequotas', quotaNamespace],
  ['events', 'default'],
])

/** A manifest that the contract suite knows to be accepted, whatever it leads to here. */
function anyKind(dice: Dice, around: Surroundings): NewManifest {
  const found = dice.pick(acceptedManifests)
  const kind = kinds.find((one) => one.kind === found?.kind && apiVersionOf(one) === found.apiVersion)
  if (!found || !kind || kind.plural === 'nodes' || kind.plural === 'namespaces') return plainObject(dice, around)
  const text = JSON.stringify(found).replaceAll('registry.lab-1.localhost', around.registry)
  const { metadata, ...fields } = JSON.parse(text) as { metadata?: Record<string, unknown> } & Record<string, unknown>
  return manifest(kind, around, dice, fields, { meta: metadata ?? {} })
}

function manifest(
  kind: Kind,
  around: Surroundings,
  dice: Dice,
  body: Readonly<Record<string, unknown>>,
  more: {
    readonly pods?: WantedPods
    readonly fields?: Readonly<Record<string, unknown>>
    readonly labels?: Readonly<Record<string, string>>
    readonly meta?: Readonly<Record<string, unknown>>
  },
): NewManifest {
  const place = fixedNamespaces.get(kind.plural) ?? dice.pick(around.namespaces)
  const namespace = kind.namespaced ? place : undefined
  const metadata = {
    ...more.meta,
    generateName: undefined,
    name: around.name,
    ...(namespace !== undefined && { namespace }),
    ...(more.labels && { labels: more.labels }),
  }
  const wanted = { kind, namespace, name: around.name, pods: more.pods, fields: more.fields ?? {}, kills: 0 }
  return { wanted, body: { ...body, metadata } }
}
