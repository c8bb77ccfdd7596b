import type { ModelFoldersView, SessionView } from '../../../../../src/management/console/console-shapes.ts'
import { element } from '../../../../src/view/element.ts'
import type { ConsoleApi } from '../../api/console-api.ts'
import { field } from '../form-dialog.ts'
import { sizeText } from '../texts.ts'
import { nameIn } from './model-name.ts'

/** One way to say where a model comes from. */
export interface ModelSource {
  readonly title: string
  readonly rows: readonly HTMLElement[]
  /** Asked of whatever is chosen now, for its name. */
  usualName(): string
  /** Begins to add the model. */
  add(api: ConsoleApi, model: Readonly<Record<string, unknown>>): Promise<unknown>
}

/** The ways that there are here; the first is offered first. */
export function modelSources(session: SessionView, known: ModelFoldersView): readonly ModelSource[] {
  return [
    ...(session.mayFetch ? [fromAddress()] : []),
    ...(session.mayUpload ? [fromThisComputer()] : []),
    fromClaim(known),
  ]
}

function fromAddress(): ModelSource {
  const address = field('model-address', {
    label: 'Address',
    hint: 'smollm2, qwen (which has tools), hf:ORG/REPO/FILE.gguf, or https://HOST/FILE.gguf',
    placeholder: 'hf:ORG/REPO/FILE.gguf',
  })
  return {
    title: 'Internet',
    rows: [address.row],
    usualName: () => nameIn(address.input.value),
    add: (api, model) => post(api, { ...model, source: address.input.value.trim() }),
  }
}

function fromThisComputer(): ModelSource {
  const files = fileField('model-files', 'Files', 'One GGUF file, or all parts of one that is split.', {
    multiple: true,
  })
  const folder = fileField('model-folder', 'or a folder', 'With all that a model consists of.', {
    webkitdirectory: true,
  })
  for (const [chosen, other] of [
    [files, folder],
    [folder, files],
  ] as const) {
    chosen.input.addEventListener('change', () => {
      other.input.value = ''
      other.tell()
      chosen.tell()
    })
  }
  const chosen = () => [...files.chosen(), ...folder.chosen()]
  return {
    title: 'This computer',
    rows: [element('div', { class: 'side-by-side' }, files.row, folder.row)],
    usualName: () => nameIn(folder.folderName() || (files.chosen()[0]?.name ?? '')),
    add: async (api, model) => {
      await requireModel(chosen())
      await api.sender.send(model, chosen())
    },
  }
}

function fromClaim({ root, folders }: ModelFoldersView): ModelSource {
  const options = folders.map((folder) => element('option', { value: `pvc://userdata/${folder}` }))
  const place = root === '' ? '' : ` pvc://userdata/ is the folder ${root} of that machine.`
  const path = field('model-path', {
    label: 'Path in a claim',
    hint: `pvc://CLAIM/PATH of a folder or a file.${place}`,
    list: 'model-folders',
    placeholder: 'pvc://userdata/models/NAME',
  })
  return {
    title: 'Server',
    rows: [element('datalist', { id: 'model-folders' }, ...options), path.row],
    usualName: () => nameIn(path.input.value),
    add: (api, model) => {
      const source = path.input.value.trim()
      if (!source.startsWith('pvc://'))
        throw new Error('A path in a claim begins with pvc://, such as pvc://userdata/models/NAME.')
      return post(api, { ...model, source })
    },
  }
}

function post(api: ConsoleApi, body: object): Promise<unknown> {
  return api.ask('models', { method: 'POST', body })
}

/** Said before anything is sent; the server looks, too. */
async function requireModel(files: readonly File[]): Promise<void> {
  if (files.length === 0) throw new Error('Choose a file or a folder.')
  for (const file of files.filter(({ name }) => /\.gguf$/i.test(name))) {
    if ((await file.slice(0, 4).text()) !== 'GGUF') throw new Error(`${file.name} is no GGUF file.`)
  }
}

function fileField(id: string, label: string, hint: string, attributes: { multiple?: true; webkitdirectory?: true }) {
  const input = element('input', { id, type: 'file', 'aria-describedby': `${id}-hint`, ...attributes })
  const about = element('small', { id: `${id}-hint` }, hint)
  // Of a folder, only what is directly in it: a model has no folders inside, and a home has many.
  const chosen = () => [...(input.files ?? [])].filter(isDirectlyChosen)
  return {
    input,
    row: element('p', { class: 'dialog-field' }, element('label', { for: id }, label), input, about),
    chosen,
    folderName: () => chosen()[0]?.webkitRelativePath.split('/')[0] ?? '',
    tell: () => {
      const bytes = chosen().reduce((sum, { size }) => sum + size, 0)
      about.textContent = chosen().length === 0 ? hint : `${chosen().length} chosen, ${sizeText(bytes)}`
    },
  }
}

function isDirectlyChosen({ name, webkitRelativePath }: File): boolean {
  return !name.startsWith('.') && webkitRelativePath.split('/').length <= 2
}
