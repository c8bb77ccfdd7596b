import { type Node, isNodeReady } from '../../../resources/node.ts'
import type { Pod } from '../../../resources/pod.ts'
import { capacityOf, usedBy } from '../../resource-use.ts'
import type { NodeView, Share } from '../console-shapes.ts'

/** `pods` are those of the node. */
export function nodeView(node: Node, pods: readonly Pod[]): NodeView {
  const [total, used] = [capacityOf([node]), usedBy(pods)]
  const share = (resource: string): Share => ({
    used: (used.get(resource) ?? 0) / 1000,
    total: (total.get(resource) ?? 0) / 1000,
  })
  return {
    name: node.metadata.name,
    ready: isNodeReady(node),
    pods: pods.length,
    cpu: share('cpu'),
    memory: share('memory'),
    version: node.status?.nodeInfo?.kubeletVersion,
  }
}
