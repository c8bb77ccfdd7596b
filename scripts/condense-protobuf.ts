/**
 * Condenses the field numbers of Kubernetes' protobuf messages out of the Go sources of k8s.io/api and
 * k8s.io/apimachinery into src/apiserver/protobuf/protobuf-facts.json. Numbers only.
 *
 *     go mod download -json k8s.io/api@v0.34.1 k8s.io/apimachinery@v0.34.1     # says where they are
 *     node scripts/condense-protobuf.ts <folder of k8s.io/api> <folder of k8s.io/apimachinery>
 */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProtobufFacts } from '../src/apiserver/protobuf/protobuf-facts.ts'
import { coreType } from '../src/resources/facts/core-facts.ts'

interface GoField {
  readonly json: string
  readonly inline: boolean
  readonly number: number
  readonly type: string
}

const [api, machinery] = process.argv.slice(2)
if (api === undefined || machinery === undefined)
  throw new Error('name the folders of k8s.io/api and k8s.io/apimachinery')

const structs = new Map<string, readonly GoField[]>()
for (const group of readdirSync(api).sort()) {
  const file = join(api, group, 'v1', 'types.go')
  if (existsSync(file)) readStructs(`io.k8s.api.${group}.v1.`, readFileSync(file, 'utf8'))
}
const meta = readFileSync(join(machinery, 'pkg/apis/meta/v1/types.go'), 'utf8')
readStructs('io.k8s.apimachinery.pkg.apis.meta.v1.', meta)

const facts: Record<string, ProtobufFacts> = {}
for (const name of [...structs.keys()].sort()) if (coreType(name)?.properties) facts[name] = factsOf(name)
const lines = Object.entries(facts).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
const target = new URL('../src/apiserver/protobuf/protobuf-facts.json', import.meta.url)
writeFileSync(target, `{\n${lines.join(',\n')}}\n`)

function readStructs(prefix: string, text: string): void {
  for (const [, name = '', body = ''] of text.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)) {
    const fields: GoField[] = []
    for (const [, words = '', json = '', number = ''] of body.matchAll(
      /^\t([^`\n/]+)`json:"([^"]*)"[^`\n]*protobuf:"\w+,(\d+),/gm,
    )) {
      const type = words.trim().split(/\s+/).at(-1) ?? ''
      fields.push({ json: json.split(',')[0] ?? '', inline: json.startsWith(','), number: Number(number), type })
    }
    structs.set(prefix + name, fields)
  }
}

function factsOf(name: string): ProtobufFacts {
  const prefix = name.slice(0, name.lastIndexOf('.') + 1)
  const numbers: Record<string, number> = {}
  const inline: Record<string, ProtobufFacts> = {}
  const given: string[] = []
  for (const { json, inline: isInline, number, type } of structs.get(name) ?? []) {
    if (isInline) inline[number] = factsOf(prefix + type)
    else {
      numbers[json] = number
      // A pointer in Go can be absent. All other fields are always written, with their zero value if nothing is set.
      if (type.startsWith('*')) given.push(json)
    }
  }
  return {
    numbers,
    ...(given.length > 0 && { given }),
    ...(Object.keys(inline).length > 0 && { inline }),
  }
}
