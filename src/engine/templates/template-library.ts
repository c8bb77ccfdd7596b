import type { ChatWrapper, JinjaTemplateChatWrapper, LlamaText } from 'node-llama-cpp'
import { libraryModule } from '../library/library-module.ts'
import type { LoadedModel } from '../llama/native/loaded-model.ts'
import { libraryTokenizer } from './library-tokenizer.ts'

/** What the library knows about chat templates. */
export interface TemplateLibrary {
  readonly JinjaTemplateChatWrapper: typeof JinjaTemplateChatWrapper
  readonly LlamaText: typeof LlamaText
}

/** Takes a tenth of a second, in which a model can be loaded beside. */
export async function loadTemplateLibrary(): Promise<TemplateLibrary> {
  const [text, jinja] = await Promise.all([
    libraryModule(
      './utils/LlamaText.js',
      (module): module is Pick<TemplateLibrary, 'LlamaText'> => 'LlamaText' in module,
    ),
    libraryModule(
      './chatWrappers/generic/JinjaTemplateChatWrapper.js',
      (module): module is Pick<TemplateLibrary, 'JinjaTemplateChatWrapper'> => 'JinjaTemplateChatWrapper' in module,
    ),
  ])
  return { ...text, ...jinja }
}

/** The format that the library knows for this kind of model, for one whose own template it does not understand. */
export async function knownWrapper(file: string, model: LoadedModel): Promise<ChatWrapper> {
  const { GeneralChatWrapper, readGgufFileInfo, resolveChatWrapper } = await import('node-llama-cpp')
  const fileInfo = await readGgufFileInfo(file, { sourceType: 'filesystem' })
  const bosString = model.bos === undefined ? null : model.native.getTokenString(model.bos)
  const known = resolveChatWrapper({ bosString, filename: file, fileInfo, tokenizer: libraryTokenizer(model) })
  return known ?? new GeneralChatWrapper()
}
