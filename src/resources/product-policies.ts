import { controllerUser, gatewayNamespace } from './model-labels.ts'

// The embedded cluster's own rules for any other Kubernetes, as ValidatingAdmissionPolicies. There a rule is compiled
// code, which is faster and names the field; product-policies.test.ts holds that both decide alike, in the same words.

/** Holds `registry`, the registry of the cluster's compute center, under that key. */
export const policyParameters = { kind: 'ConfigMap', name: 'sluice-policies', namespace: gatewayNamespace }

const apiVersion = 'admissionregistration.k8s.io/v1'

const matched = (apiGroup: string, resources: readonly string[], operations: readonly string[]) => ({
  apiGroups: [apiGroup],
  apiVersions: ['*'],
  operations: [...operations],
  resources: [...resources],
})

const written = ['CREATE', 'UPDATE']
/** What keeps the cluster itself alive comes with images of its own. */
const outsideSystem = {
  namespaceSelector: {
    matchExpressions: [
      {
        key: 'kubernetes.io/metadata.name',
        operator: 'NotIn',
        values: ['kube-system', 'kube-public', 'kube-node-lease'],
      },
    ],
  },
}

const podOf = (object: string) =>
  [
    `request.kind.kind == 'Pod' ? ${object}`,
    `request.kind.kind == 'PodTemplate' ? ${object}.template`,
    `request.kind.kind == 'CronJob' ? ${object}.spec.jobTemplate.spec.template`,
    `${object}.spec.template`,
  ].join(' : ')

const imagePolicy = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'sluice-images' },
  spec: {
    failurePolicy: 'Fail',
    paramKind: { apiVersion: 'v1', kind: policyParameters.kind },
    matchConstraints: {
      resourceRules: [
        matched('', ['pods', 'pods/ephemeralcontainers', 'podtemplates', 'replicationcontrollers'], written),
        matched('apps', ['daemonsets', 'deployments', 'replicasets', 'statefulsets'], written),
        matched('batch', ['cronjobs', 'jobs'], written),
      ],
    },
    variables: [
      { name: 'pod', expression: podOf('object') },
      {
        name: 'isKept',
        expression: `request.kind.kind != 'Pod' && oldObject != null && (${podOf('oldObject')}).spec == variables.pod.spec`,
      },
      {
        name: 'containers',
        expression: [
          'variables.pod.spec.containers',
          '(has(variables.pod.spec.initContainers) ? variables.pod.spec.initContainers : [])',
          '(has(variables.pod.spec.ephemeralContainers) ? variables.pod.spec.ephemeralContainers : [])',
        ].join(' + '),
      },
      {
        name: 'foreign',
        expression: "variables.containers.filter(c, !has(c.image) || !c.image.startsWith(params.data.registry + '/'))",
      },
      {
        name: 'named',
        expression: "variables.foreign.map(c, has(c.image) ? 'the image ' + c.image : 'an image without a name')",
      },
    ],
    validations: [
      {
        expression: 'variables.isKept || size(variables.foreign) == 0',
        messageExpression: [
          'variables.named[0]',
          `" is not from this cluster's registry; use " + params.data.registry + '/<repository>:<tag>'`,
        ].join(' + '),
      },
    ],
  },
}

const nodePortPolicy = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'sluice-node-ports' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: { resourceRules: [matched('', ['services'], written)] },
    validations: [
      {
        expression: "!has(object.spec.type) || !(object.spec.type in ['NodePort', 'LoadBalancer'])",
        messageExpression:
          "object.spec.type + ' services are not available in this cluster; bind a ServiceExporter (sluice.dev/v1) to a ClusterIP service instead'",
      },
    ],
  },
}

const modelNamespacePolicy = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'sluice-model-namespace' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: { resourceRules: [matched('sluice.dev', ['models'], ['CREATE'])] },
    validations: [
      {
        expression: `request.namespace == '${gatewayNamespace}'`,
        message: `the gateway serves Models of the namespace ${gatewayNamespace} only; create it there`,
      },
    ],
  },
}

/** The uids of the Models that control the Pod. */
const modelsOf = (pod: string) =>
  [
    `has(${pod}.metadata.ownerReferences) ? ${pod}.metadata.ownerReferences`,
    ".filter(o, has(o.controller) && o.controller && o.kind == 'Model' && o.apiVersion.startsWith('sluice.dev/'))",
    '.map(o, o.uid) : []',
  ].join('')

const modelPodPolicy = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'sluice-model-pods' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: { resourceRules: [matched('', ['pods'], written)] },
    variables: [
      { name: 'models', expression: modelsOf('object') },
      { name: 'before', expression: `oldObject != null ? (${modelsOf('oldObject')}) : []` },
    ],
    validations: [
      {
        expression: `request.userInfo.username == '${controllerUser}' || variables.models.all(m, m in variables.before)`,
        message: 'only the operator makes Pods that a Model controls',
      },
    ],
  },
}

export const productPolicies = [imagePolicy, nodePortPolicy, modelNamespacePolicy, modelPodPolicy] as const

/** Where they count: everywhere but in what keeps the cluster alive. Without the registry's name no image is let in. */
export const productBindings = productPolicies.map(({ metadata: { name }, spec }) => ({
  apiVersion,
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name },
  spec: {
    policyName: name,
    ...('paramKind' in spec && {
      paramRef: {
        name: policyParameters.name,
        namespace: policyParameters.namespace,
        parameterNotFoundAction: 'Deny',
      },
    }),
    matchResources: outsideSystem,
    validationActions: ['Deny'],
  },
}))
