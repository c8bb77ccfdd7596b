import { describe, expect, it } from 'vitest'
import { engineNamePattern, modelUrlForm, modelUrlPattern } from '../../resources/model-references.ts'
import { StatusError } from '../../resources/status-error.ts'
import { type ContractStage, faultsOf, goodSpec, refusal } from './contract-stage.contract.ts'

/** Every cluster accepts, completes and refuses the same Models, field by field. */
export function modelRulesContract(stage: ContractStage): void {
  const model: ContractStage['model'] = (...args) => stage.model(...args)

  describe('a Model', () => {
    it('gets its defaults, and loses what it does not have', async () => {
      const created = await model('m', { spec: { ...goodSpec, colour: 'red' }, colour: 'blue' })
      expect(created['colour']).toBeUndefined()
      expect(created.spec).toEqual({
        ...goodSpec,
        features: ['TextGeneration'],
        imagePullSecrets: [],
        resourceProfile: 'default:1',
        minReplicas: 0,
        maxReplicas: 1,
        targetRequests: 100,
        scaleDownDelaySeconds: 30,
      })
    })

    it('may name any engine, since which there are is up to the cluster’s operator', async () => {
      for (const [index, engine] of ['VLLM', 'SGLang', 'llama.cpp', 'speech_2'].entries()) {
        expect((await model(`m${index}`, { spec: { ...goodSpec, engine } })).spec.engine).toBe(engine)
      }
    })

    it('gets the default where it says null, or nothing where there is none', async () => {
      const created = await model('m', { spec: { ...goodSpec, minReplicas: null, features: null, owner: null } })
      expect(created.spec).toMatchObject({ minReplicas: 0, features: ['TextGeneration'] })
      expect(created.spec).not.toHaveProperty('owner')
    })

    it.each([
      [undefined, { spec: 'FieldValueRequired' }],
      ['text', { spec: 'FieldValueTypeInvalid' }],
      [{ engine: 'VLLM' }, { 'spec.url': 'FieldValueRequired' }],
      [{ url: goodSpec.url }, { 'spec.engine': 'FieldValueRequired' }],
      [{}, { 'spec.url': 'FieldValueRequired', 'spec.engine': 'FieldValueRequired' }],
      [{ ...goodSpec, url: 'https://example.com/model' }, { 'spec.url': 'FieldValueInvalid' }],
      [{ ...goodSpec, url: 'pvc://userdata/../secrets' }, { 'spec.url': 'FieldValueInvalid' }],
      [{ ...goodSpec, url: 7 }, { 'spec.url': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, engine: 'Steam engine' }, { 'spec.engine': 'FieldValueInvalid' }],
      [{ ...goodSpec, engine: '' }, { 'spec.engine': 'FieldValueInvalid' }],
      [{ ...goodSpec, engine: 'x'.repeat(64) }, { 'spec.engine': 'FieldValueInvalid' }],
      [{ ...goodSpec, engine: 7 }, { 'spec.engine': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, features: ['Telepathy'] }, { 'spec.features[0]': 'FieldValueNotSupported' }],
      [{ ...goodSpec, features: [] }, { 'spec.features': 'FieldValueInvalid' }],
      [{ ...goodSpec, resourceProfile: 'l40s' }, { 'spec.resourceProfile': 'FieldValueInvalid' }],
      [{ ...goodSpec, resourceProfile: 'nvidia.com/gpu-l40s:0' }, { 'spec.resourceProfile': 'FieldValueInvalid' }],
      [{ ...goodSpec, imagePullSecrets: [''] }, { 'spec.imagePullSecrets[0]': 'FieldValueInvalid' }],
      [{ ...goodSpec, minReplicas: -1 }, { 'spec.minReplicas': 'FieldValueInvalid' }],
      [{ ...goodSpec, minReplicas: '1' }, { 'spec.minReplicas': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, minReplicas: 1.5 }, { 'spec.minReplicas': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, minReplicas: 3, maxReplicas: 2 }, { 'spec.minReplicas': 'FieldValueInvalid' }],
      [{ ...goodSpec, maxReplicas: 0 }, { 'spec.maxReplicas': 'FieldValueInvalid' }],
      [{ ...goodSpec, url: null }, { 'spec.url': 'FieldValueRequired' }],
      [{ ...goodSpec, features: 'TextGeneration' }, { 'spec.features': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, features: [null] }, { 'spec.features[0]': 'FieldValueNotSupported' }],
      [{ ...goodSpec, owner: 'x'.repeat(254) }, { 'spec.owner': 'FieldValueTooLong' }],
      [{ ...goodSpec, args: Array.from({ length: 65 }, () => 'x') }, { 'spec.args': 'FieldValueTooMany' }],
      [{ ...goodSpec, args: [1] }, { 'spec.args[0]': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, args: 'one two' }, { 'spec.args': 'FieldValueTypeInvalid' }],
      [
        { ...goodSpec, engine: '-', targetRequests: 0 },
        { 'spec.engine': 'FieldValueInvalid', 'spec.targetRequests': 'FieldValueInvalid' },
      ],
    ])('is refused with the fields at fault: spec %j', async (spec, faults) => {
      const error = await refusal(model('m', spec === undefined ? {} : { spec }))
      expect(error).toMatchObject({ reason: 'Invalid', code: 422, details: { name: 'm', kind: 'Model' } })
      expect(faultsOf(error)).toEqual(faults)
    })

    it('is refused in the same words', async () => {
      const spec = { ...goodSpec, url: 'https://a', engine: '-', features: [], minReplicas: -1, owner: 1 }
      const error = await refusal(model('m', { spec }))
      const told = (error.details.causes ?? []).filter(({ field }) => field !== '<nil>').map(({ message }) => message)
      expect(told.toSorted()).toEqual([
        `Invalid value: "-": spec.engine in body should match '${engineNamePattern.source}'`,
        'Invalid value: "integer": spec.owner in body must be of type string: "integer"',
        'Invalid value: -1: spec.minReplicas in body should be greater than or equal to 0',
        'Invalid value: 0: spec.features in body should have at least 1 items',
      ])
      const ruled = await refusal(model('m', { spec: { ...goodSpec, url: 'https://a', minReplicas: 2 } }))
      expect((ruled.details.causes ?? []).map(({ field, message }) => `${field}: ${message}`).toSorted()).toEqual([
        'spec.minReplicas: Invalid value: "object": minReplicas must not be greater than maxReplicas',
        `spec.url: Invalid value: "string": ${modelUrlForm}`,
      ])
    })

    it('has a name that can be a label', async () => {
      await model('m'.repeat(63))
      const error = await refusal(model('m'.repeat(64)))
      expect(error).toMatchObject({ reason: 'Invalid', code: 422 })
      expect(error.message).toContain('metadata.name must be no more than 63 characters')
    })

    it('has a url that every cluster judges alike', async () => {
      const paths = ['a', 'a/b', '.a', '..a', 'a..', '...', 'a b', 'a\tb', 'a\u00a0b', 'a\u2028b', 'a\\b', 'ä', 'a%41']
      const traversal = ['.', '..', 'a/.', './a', 'a/../b', '%2e', '%2E%2e', 'a%2fb', 'a%5Cb', 'a%00', '', 'a/', 'a//b']
      const urls = [
        ...[...paths, ...traversal].map((path) => `pvc://userdata/${path}`),
        'pvc://userdata',
        'pvc:///a',
        'pvc://User/a',
        'pvc://-a/b',
        'PVC://a/b',
        `pvc://${'a'.repeat(64)}/b`,
        ' pvc://a/b',
      ]
      const judged: Array<[string, string]> = []
      for (const [index, url] of urls.entries()) {
        const judgement = model(`m${index}`, { spec: { ...goodSpec, url } }).then(
          () => 'accepted',
          (error: unknown) => (error instanceof StatusError ? Object.keys(faultsOf(error)).join() : String(error)),
        )
        judged.push([url, await judgement])
      }
      expect(judged).toEqual(urls.map((url) => [url, modelUrlPattern.test(url) ? 'accepted' : 'spec.url']))
    })
  })
}
