/**
 * Where the embedded server differs from a real one on purpose, as far as tests notice: they ask
 * `server.differs(name)`. The table in docs/explanation/architecture.md says the same in the same words;
 * tests/difference-docs.test.ts compares the two.
 */
export const differences = {
  'version of a new object': 'an object to be created that has a `resourceVersion` is refused with 400 instead of 500',
  'kind of list items': 'items of core lists have `apiVersion` and `kind`, as those of custom ones do',
  'image registry':
    'a Pod, or a template of Pods, whose image is not from the registry of its compute center is refused (422)',
  'node ports': 'a Service of type NodePort or LoadBalancer is refused (422): a ServiceExporter makes it reachable',
  'unfit manifest': 'a manifest with fields that its kind does not have cannot be applied: 400 instead of 500',
  'impersonating nobody': 'groups without a user to impersonate are refused with 400 instead of 500',
  'malformed binding': 'a Binding that names no Node is refused with 400 instead of 500',
  'conversion webhooks': 'a definition that converts its versions by a webhook is refused (422): only None is there',
  'cost of rules':
    'rules are not estimated when they are defined: one that would run too long is refused with the object',
  'functions of rules':
    '`ip`, `cidr`, `format` checks and loops of two variables are refused when a rule is defined (422)',
  'audit lines':
    'without what may hold a secret: message and details of a refusal, query of what is proxied; with their cluster',
  'refused patches': 'what a patch made of an object is not repeated when it is refused: it may be a Secret',
} as const

export type Difference = keyof typeof differences
