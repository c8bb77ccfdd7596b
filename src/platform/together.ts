import type { Component } from '../foundation/lifecycle.ts'

/** Components that start at the same time, since none needs another one. They stop one by one, in reverse order. */
export function together(name: string, components: readonly Component[]): Component {
  return {
    name,
    async start(signal) {
      await Promise.all(components.map(async (component) => component.start?.(signal)))
    },
    async stop(signal) {
      for (const component of components.toReversed()) await component.stop?.(signal)
    },
  }
}
