import { expect, it } from 'vitest'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import { deleteInTurns } from './collection-deletion.ts'

const objects: KubernetesObject[] = Array.from({ length: 100 }, (_, index) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `m${index}` },
}))

it('deletes a few at a time, with a turn for others in between', async () => {
  let turns = 0
  const next = async () => void turns++
  const deleted = await deleteInTurns(objects, async (object) => ({ object, gone: true }), {
    turns: { isOver: false, next },
  })
  expect(deleted).toEqual(objects)
  expect(turns).toBe(6)
})

it('stops when nobody waits for it any more', async () => {
  const leaving = new AbortController()
  let count = 0
  const deleteOne = async (object: KubernetesObject) => {
    if (++count === 20) leaving.abort()
    return { object, gone: true }
  }
  const deleted = await deleteInTurns(objects, deleteOne, { signal: leaving.signal })
  expect(deleted.length).toBe(32)
})

it('passes over what has gone meanwhile, and stops at any other refusal', async () => {
  const refuse = (reason: 'NotFound' | 'Forbidden') => async (object: KubernetesObject) => {
    if (object.metadata.name === 'm3') throw new StatusError(reason, reason)
    return { object, gone: true }
  }
  expect(await deleteInTurns(objects, refuse('NotFound'), {})).toHaveLength(99)
  await expect(deleteInTurns(objects, refuse('Forbidden'), {})).rejects.toMatchObject({ reason: 'Forbidden' })
})
