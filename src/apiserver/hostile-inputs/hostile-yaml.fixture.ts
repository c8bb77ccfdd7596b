import { type Call, type HostileInput, apply, core, many } from './hostile-calls.fixture.ts'

const yaml = (body: string): Call => ({
  method: 'PATCH',
  path: `${core}/configmaps/hostile?fieldManager=me&force=true`,
  type: apply,
  body,
})
const manifest = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hostile\n'

const inYaml: readonly HostileInput[] = [
  {
    name: 'YAML with very many keys',
    attack: (share) => yaml(`${manifest}data:\n${many(130_000, share, (i) => `  k${i}: "v"\n`).join('')}`),
  },
  {
    name: 'YAML with very many duplicate keys',
    attack: (share) => yaml(`${manifest}data:\n${many(200_000, share, () => `  k: "v"\n`).join('')}`),
  },
  {
    name: 'YAML with very many anchors and aliases',
    attack: (share) => yaml(`${manifest}x: &a 1\ndata:\n${many(150_000, share, (i) => `  k${i}: *a\n`).join('')}`),
  },
  {
    name: 'YAML aliases of aliases',
    attack: () =>
      yaml(`${manifest}a0: &a0 [x, x]\n${many(60, 1, (i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`).join('')}`),
  },
  { name: 'YAML nested deeply', attack: (share) => yaml(`${manifest}data: ${'['.repeat(1_500_000 * share)}`) },
  {
    name: 'YAML nested deeply by indentation',
    attack: (share) => yaml(`${manifest}${many(2_000, share, (i) => `${' '.repeat(i)}a:\n`).join('')}`),
  },
  {
    name: 'YAML of one long scalar',
    attack: (share) => yaml(`${manifest}data:\n  a: ${'x y '.repeat(700_000 * share)}`),
  },
  {
    name: 'YAML of very many lines in a scalar',
    attack: (share) => yaml(`${manifest}data:\n  a: |\n${'    x\n'.repeat(480_000 * share)}`),
  },
  {
    name: 'YAML of a quoted scalar of many lines',
    attack: (share) => yaml(`${manifest}data:\n  a: "${'x\n '.repeat(900_000 * share)}"`),
  },
  {
    name: 'YAML of very many documents',
    attack: (share) => yaml(`${manifest}${'---\na: 1\n'.repeat(300_000 * share)}`),
  },
  { name: 'YAML of very many comments', attack: (share) => yaml(`${manifest}${'# x\n'.repeat(700_000 * share)}`) },
  {
    name: 'YAML of very many empty items',
    attack: (share) => yaml(`${manifest}x:\n${'- \n'.repeat(900_000 * share)}`),
  },
  {
    name: 'YAML of a flow map of many keys',
    attack: (share) => yaml(`${manifest}data: {${many(250_000, share, (i) => `k${i}: v`).join(',')}}`),
  },
  {
    name: 'YAML of very many tags',
    attack: (share) => yaml(`${manifest}data:\n${many(150_000, share, (i) => `  k${i}: !!str v\n`).join('')}`),
  },
  {
    name: 'YAML of very many merge keys',
    attack: (share) => yaml(`${manifest}x: &x {a: b}\ndata:\n${'  <<: *x\n'.repeat(250_000 * share)}`),
  },
  {
    name: 'YAML of very many tag directives',
    attack: (share) => yaml(`${many(150_000, share, (i) => `%TAG !a${i}! tag:x\n`).join('')}---\n${manifest}`),
  },
  { name: 'YAML of very many errors', attack: (share) => yaml(`${manifest}${'a: b: c\n'.repeat(300_000 * share)}`) },
  {
    name: 'YAML of very many unknown tags',
    attack: (share) => yaml(`${manifest}x:\n${'- !x y\n'.repeat(300_000 * share)}`),
  },
  {
    name: 'YAML of very many unknown aliases',
    attack: (share) => yaml(`${manifest}x:\n${'- *y\n'.repeat(400_000 * share)}`),
  },
  { name: 'YAML of very many tabs', attack: (share) => yaml(`${manifest}x:\n${'\t- a\n'.repeat(400_000 * share)}`) },
]

/** Shorter than what is read at once, on the shared event loop. */
const shortShare = 0.005
/** Longer than that: read in a thread, however long it takes. What is left for the loop does not depend on it. */
const longShare = 0.02

export const hostileYaml: readonly HostileInput[] = [
  ...inYaml.map((input) => ({ ...input, name: `short ${input.name}`, share: shortShare })),
  ...inYaml.map((input) => ({ ...input, share: longShare })),
  ...inYaml
    .filter(({ name }) => name.endsWith('unknown tags'))
    .map((input) => ({ ...input, name: `long ${input.name}` })),
]
