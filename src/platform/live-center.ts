import type { ObjectCache } from '../cluster/informer.ts'
import type { ComputeCenter } from '../resources/compute-center.ts'
import { type CenterFacts, centerFacts } from './home-resources.ts'

/** What ComputeCenters say at the moment: where images come from and below which domain services are exposed. */
export class LiveCenters {
  readonly #centers: ObjectCache<ComputeCenter>

  constructor(centers: ObjectCache<ComputeCenter>) {
    this.#centers = centers
  }

  /** Undefined when there is no such center. */
  find(code: string): CenterFacts | undefined {
    const spec = this.#centers.list().find((center) => center.spec.code === code)?.spec
    return spec && { code, proxyDomain: spec.proxyDomain, registry: spec.registry }
  }

  /** Of a center that was there: what this machine gives one until it is read, and when somebody has deleted it. */
  of(code: string): CenterFacts {
    return this.find(code) ?? centerFacts(code)
  }

  /** Of all there are, and of this one in any case. */
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
