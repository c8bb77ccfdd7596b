import { askUntil } from './ask-until.ts'
import type { ContractServer } from './contract-server.ts'
import type { WireObject } from './wire-object.ts'

/** Schemas of fields. */
export const text = { type: 'string' }
export const count = { type: 'integer' }
export const rules = (...all: Array<Record<string, unknown>>) => ({ 'x-kubernetes-validations': all })

export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

type Fields = Record<string, unknown>

/** A definition in a group of the test's own, so that no test waits for the end of another's. */
export class WidgetDefinition {
  readonly #server: ContractServer

  constructor(server: ContractServer) {
    this.#server = server
  }

  get group(): string {
    return `${this.#server.namespace}.example.com`
  }

  get name(): string {
    return `widgets.${this.group}`
  }

  /** The path of widgets in the test's namespace. */
  path(rest = '', version = 'v1'): string {
    return this.#server.path(`widgets${rest}`, `${this.group}/${version}`)
  }

  widget(name: string, fields: Fields = {}, version = 'v1'): Fields {
    return { apiVersion: `${this.group}/${version}`, kind: 'Widget', metadata: { name }, ...fields }
  }

  /**
   * A definition with these fields of `spec`, and further settings of the version, the definition's spec and its names.
   */
  manifest(properties: Fields, version: Fields = {}, spec: Fields = {}, names: Fields = {}): Fields {
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: this.name },
      spec: {
        group: this.group,
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget', ...names },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            ...schemaOf({ spec: { type: 'object', properties } }),
            ...version,
          },
        ],
        ...spec,
      },
    }
  }

  /** Creates it and waits until its kind is served. */
  async serve(manifest: Fields): Promise<WireObject> {
    const created = await this.#server.ok('POST', definitionsPath, manifest)
    await this.untilAnswered(this.path(), 200)
    return created
  }

  async change(patch: Fields): Promise<WireObject> {
    const { body } = await this.#server.patch(`${definitionsPath}/${this.name}`, 'merge', patch)
    return body
  }

  /** A real server takes a moment to serve a new kind. */
  async untilAnswered(path: string, code: number): Promise<WireObject> {
    const { body } = await askUntil(
      () => this.#server.http('GET', path),
      (answer) => answer.code === code,
    )
    return body
  }
}

export function schemaOf(properties: Fields, further: Fields = {}): Fields {
  return { schema: { openAPIV3Schema: { type: 'object', properties, ...further } } }
}

/** Field, reason and message of each cause, sorted by field. */
export function causesOf(body: WireObject): string[] {
  const { causes = [] } = (body['details'] ?? {}) as {
    causes?: Array<{ reason: string; field: string; message: string }>
  }
  return causes.map(({ reason, field, message }) => `${field} ${reason} ${message}`).sort()
}

/** The cause for a value of the wrong type. */
export const typeFault = (field: string, type: string, found: string) =>
  `${field} FieldValueTypeInvalid Invalid value: "${found}": ${field} in body must be of type ${type}: "${found}"`
