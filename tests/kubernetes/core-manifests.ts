export type Fields = Record<string, unknown>

export interface Manifest extends Fields {
  apiVersion: string
  kind: string
  metadata?: Fields
}

const template = (extra: Fields = {}) => ({
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'main', image: 'registry.lab-1.localhost/x/y', ...extra }] },
})
export const meta = (name: string) => ({ name })
export const policyOf = (spec: Fields) => ({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', spec })

/** Minimal objects that a server accepts, for every core kind; refused-manifests.ts has those it must refuse. */
export const acceptedManifests: readonly Manifest[] = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: meta('p1'),
    spec: {
      containers: [
        {
          name: 'a',
          image: 'registry.lab-1.localhost/x:1',
          resources: { limits: { cpu: 0.5, memory: '1024Mi', 'x.y/gpu': 1 } },
          ports: [{ containerPort: 80 }],
          env: [{ name: 'P', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          livenessProbe: { httpGet: { port: 80 } },
          readinessProbe: { tcpSocket: { port: 'http' }, periodSeconds: 3 },
          lifecycle: { preStop: { httpGet: { port: 1 } } },
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        },
      ],
      volumes: [
        { name: 'v' },
        { name: 's', secret: { secretName: 'x' } },
        { name: 'c', configMap: { name: 'x' } },
        { name: 'h', hostPath: { path: '/x' } },
        { name: 'e', emptyDir: { sizeLimit: '0.5Gi' } },
        { name: 'd', downwardAPI: { items: [{ path: 'x', fieldRef: { fieldPath: 'metadata.name' } }] } },
        { name: 'j', projected: { sources: [{ configMap: { name: 't' } }] } },
        {
          name: 'eph',
          ephemeral: {
            volumeClaimTemplate: {
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
            },
          },
        },
      ],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p2', labels: {}, annotations: {} },
    spec: {
      initContainers: [{ name: 'i', image: 'registry.lab-1.localhost/q', resources: { requests: { cpu: '1000m' } } }],
      nodeSelector: {},
      containers: [{ name: 'a', image: 'registry.lab-1.localhost/y', env: [], args: [] }],
      tolerations: [{ key: 'k', operator: 'Exists' }],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p3' },
    spec: {
      containers: [
        { name: 'a', image: 'registry.lab-1.localhost/x:latest', resources: { limits: { cpu: '1', memory: '1e9' } } },
      ],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'x', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
      ],
    },
  },
  { apiVersion: 'v1', kind: 'Service', metadata: meta('s1'), spec: { ports: [{ port: 80 }], selector: { a: 'b' } } },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: meta('s2'),
    spec: { clusterIP: 'None', ports: [{ port: 80, targetPort: 'http', name: 'h' }], sessionAffinity: 'ClientIP' },
  },
  { apiVersion: 'v1', kind: 'Service', metadata: meta('s3'), spec: { type: 'ExternalName', externalName: 'a.b' } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta('c1'), data: {} },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: meta('c2'),
    data: { a: 'b' },
    binaryData: { c: 'AAA=' },
    immutable: true,
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: meta('s1'), stringData: { a: 'b' } },
  {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: meta('sa1'),
    imagePullSecrets: [{ name: 'x' }],
    automountServiceAccountToken: false,
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: meta('pvc1'),
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: meta('pvc2'),
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: '',
      volumeName: 'x',
      resources: { requests: { storage: '1.5Gi' } },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: meta('pv1'),
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/x' } },
  },
  {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: meta('rq'),
    spec: { hard: { cpu: '1000m', 'requests.memory': '1Gi', pods: 4 } },
  },
  {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: meta('n1'),
    spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] },
    status: { capacity: { cpu: '4' } },
  },
  { apiVersion: 'v1', kind: 'Namespace', metadata: meta('facts-ns') },
  {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: meta('e1'),
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'x' },
    reason: 'R',
    message: 'm',
    type: 'Normal',
    count: 1,
    firstTimestamp: '2024-01-01T00:00:00.5Z',
    lastTimestamp: '2024-01-01T01:00:00+01:00',
    source: { component: 'c' },
  },
  {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: meta('e2'),
    regarding: { kind: 'Pod', namespace: 'default', name: 'x' },
    reason: 'R',
    note: 'm',
    type: 'Normal',
    eventTime: '2024-01-01T00:00:00.500000Z',
    reportingController: 'a.b/c',
    reportingInstance: 'i',
    action: 'A',
  },
  {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: meta('l1'),
    spec: {
      holderIdentity: 'x',
      leaseDurationSeconds: 15,
      renewTime: '2024-01-01T00:00:00.123456Z',
      acquireTime: '2024-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: meta('d1'),
    spec: { selector: { matchLabels: { a: 'b' } }, template: template({ resources: { limits: { cpu: 1 } } }) },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: meta('d2'),
    spec: {
      replicas: 0,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: { a: 'b' } },
      template: template(),
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: meta('r1'),
    spec: { selector: { matchLabels: { a: 'b' } }, template: template() },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: meta('st1'),
    spec: {
      serviceName: 'x',
      selector: { matchLabels: { a: 'b' } },
      template: template(),
      volumeClaimTemplates: [
        {
          metadata: { name: 'v' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: meta('st2'),
    spec: { selector: { matchLabels: { a: 'b' } }, template: template(), updateStrategy: { type: 'OnDelete' } },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: meta('j1'),
    spec: {
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'registry.lab-1.localhost/x' }] } },
    },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: meta('j2'),
    spec: {
      parallelism: 3,
      template: {
        metadata: { labels: { x: 'y' } },
        spec: { restartPolicy: 'OnFailure', containers: [{ name: 'a', image: 'registry.lab-1.localhost/x' }] },
      },
    },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: meta('j3'),
    spec: {
      completionMode: 'Indexed',
      completions: 3,
      backoffLimitPerIndex: 1,
      maxFailedIndexes: 2,
      podFailurePolicy: {
        rules: [
          { action: 'FailIndex', onExitCodes: { containerName: 'a', operator: 'NotIn', values: [1, 2] } },
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] },
        ],
      },
      successPolicy: { rules: [{ succeededIndexes: '0,2' }, { succeededIndexes: '0-2', succeededCount: 2 }] },
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'registry.lab-1.localhost/x' }] } },
    },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: meta('es1'),
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], conditions: {} }],
    ports: [{ port: 80 }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: meta('ro1'),
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
  },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: meta('ro2') },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: meta('rb1'),
    roleRef: { kind: 'Role', name: 'x', apiGroup: '' },
    subjects: [
      { kind: 'User', name: 'u' },
      { kind: 'ServiceAccount', name: 's', namespace: 'default' },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: meta('cr1'),
    rules: [{ nonResourceURLs: ['/x'], verbs: ['get'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: meta('crb1'),
    roleRef: { kind: 'ClusterRole', name: 'x', apiGroup: 'rbac.authorization.k8s.io' },
    subjects: [{ kind: 'Group', name: 'u' }],
  },
  { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: meta('sc1'), provisioner: 'x.y/z' },
  { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: meta('rc1'), handler: 'sluice' },
  {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: meta('rc.2'),
    handler: 'other',
    overhead: { podFixed: { cpu: '0.25', memory: '1024Mi' } },
    scheduling: { nodeSelector: { zone: 'a' }, tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }] },
  },
  { ...policyOf({ podSelector: {} }), metadata: meta('np1') },
  { ...policyOf({}), metadata: meta('np2') },
  { ...policyOf({ podSelector: {}, egress: [] }), metadata: meta('np3') },
  {
    ...policyOf({
      podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
      ingress: [
        {},
        {
          from: [{ podSelector: {} }, { namespaceSelector: {}, podSelector: { matchLabels: { a: 'b' } } }],
          ports: [{}],
        },
        { from: [{ ipBlock: { cidr: '10.1.2.3/16', except: ['10.1.1.0/24'] } }], ports: [{ port: 'http' }] },
      ],
      egress: [{ to: [{ ipBlock: { cidr: 'fd00::/8' } }], ports: [{ port: 1000, endPort: 2000, protocol: 'UDP' }] }],
    }),
    metadata: meta('np4'),
  },
]
