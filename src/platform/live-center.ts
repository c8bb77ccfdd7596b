import type { ObjectCache } from '../cluster/informer.ts'
import type { ComputeCenter } from '../resources/compute-center.ts'
import { type CenterFacts, centerFacts } from './home-resources.ts'

/** The current settings of ComputeCenters: where images come from, and under which domain services are exposed. */
export class LiveCenters {
  readonly #centers: ObjectCache<ComputeCenter>

  constructor(centers: ObjectCache<ComputeCenter>) {
    this.#centers = centers
  }

  /** `undefined` if there is no such center. */
  find(code: string): CenterFacts | undefined {
    const spec = this.#centers.list().find((center) => center.spec.code === code)?.spec
    return spec && { code, proxyDomain: spec.proxyDomain, registry: spec.registry }
  }

  /** As `find`, but with this machine's defaults until the center has been read, and after somebody has deleted it. */
  of(code: string): CenterFacts {
    return this.find(code) ?? centerFacts(code)
  }

  /** The domains of all centers, and in any case of this one. */
  domainsWith(code: string): readonly string[] {
    return [...new Set([this.of(code).proxyDomain, ...this.#centers.list().map(({ spec }) => spec.proxyDomain)])]
  }

  onChange(listener: () => void): () => void {
    return this.#centers.onChange(({ object, previous }) => {
      const told = ({ spec }: ComputeCenter) => `${spec.code} ${spec.proxyDomain} ${spec.registry}`
      if (!previous || told(previous) !== told(object)) listener()
    })
  }
}
