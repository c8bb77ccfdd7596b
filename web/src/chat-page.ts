import type { AssistantMessage, Message } from './conversation/conversation.ts'
import { ConversationStorage, type KeyValueStorage } from './conversation/conversation-storage.ts'
import { siblingsOf } from './conversation/conversation-tree.ts'
import { currentConversation, type ChatState } from './conversation/conversation-reducer.ts'
import { canDo, isBroken, type ModelEntry } from './protocol/model-list.ts'
import { API_KEY_ITEM, ApiKey, type KeyKeeping } from './session/api-key.ts'
import { ChatSession, type AskedModel, type Question } from './session/chat-session.ts'
import { ChatStore } from './session/chat-store.ts'
import { ConversationKeeper } from './session/conversation-keeper.ts'
import { KeyGate } from './session/key-gate.ts'
import { ModelPick } from './session/model-pick.ts'
import { ModelWatch } from './session/model-watch.ts'
import { OpenChat } from './session/open-chat.ts'
import { loadSettings, saveSettings, type Settings } from './session/settings.ts'
import { transcribe } from './speech/transcribe.ts'
import { Announcer } from './view/announcer.ts'
import type { BranchStep } from './view/branch-switch.ts'
import { ComposerView } from './view/composer-view.ts'
import { FollowScroll } from './view/follow-scroll.ts'
import { KeyForm } from './view/key-form.ts'
import { MessagesView } from './view/messages-view.ts'
import { ModelPickerView } from './view/model-picker-view.ts'
import { connectSettings } from './view/settings-panel.ts'
import { SidebarView } from './view/sidebar-view.ts'
import { WelcomeView } from './view/welcome-view.ts'

const TICK_MS = 250

/** Connects state and views: every change causes one drawing in the next frame. */
export class ChatPage {
  readonly #storage: KeyValueStorage
  readonly #store = new ChatStore()
  readonly #key: ApiKey
  readonly #gate: KeyGate
  readonly #authorization = () => this.#key.headers()
  readonly #session = new ChatSession(this.#store, () => this.#settings, this.#authorization)
  readonly #watch = new ModelWatch(
    this.#authorization,
    (directory) => {
      this.#gate.heard(directory)
      this.#drawSoon()
    },
    () => countWaiting(this.#store.state) > 0,
  )
  readonly #scroll = new FollowScroll()
  readonly #announcer = new Announcer()
  readonly #messages = new MessagesView({
    retry: () => this.#retry(),
    resend: (message, text) => this.#ask({ text, images: message.images, insteadOf: message.id }),
    branch: (messageId, step) => this.#branch(messageId, step),
    edit: () => this.#scroll.stay(),
  })
  readonly #welcome = new WelcomeView((text) => this.#ask({ text, images: [] }))
  readonly #picker = new ModelPickerView((model) => this.#choose(model))
  readonly #composer = new ComposerView({
    send: (text, images) => this.#ask({ text, images }),
    stop: () => this.#stop(),
    transcribe: (speech, model, signal) => transcribe(speech, model, this.#key.headers(), signal),
  })
  readonly #keyForm = new KeyForm({
    enter: (text, keeping) => this.#enterKey(text, keeping),
    cancel: () => this.#leaveKey(() => this.#gate.cancel()),
    change: () => this.#changeKey(),
    forget: () => this.#leaveKey(() => this.#gate.forget()),
  })
  readonly #sidebar = new SidebarView({
    create: () => this.#open(null),
    select: (id) => this.#open(id),
    remove: (id) => this.#session.remove(id),
  })
  readonly #pick: ModelPick
  readonly #openChat: OpenChat
  #settings: Settings
  #drawing = false
  #ticker: ReturnType<typeof setInterval> | undefined

  /** The storages for what outlives the tab and for what ends with it. */
  constructor(storages: Readonly<Record<KeyKeeping, KeyValueStorage>>) {
    this.#storage = storages.browser
    this.#key = new ApiKey(storages)
    this.#openChat = new OpenChat(storages)
    this.#gate = new KeyGate(this.#key)
    this.#settings = loadSettings(this.#storage)
    this.#pick = new ModelPick(this.#settings.model)
    connectSettings(this.#settings, (changed) => this.#change(changed))
  }

  start(): void {
    new ConversationKeeper(this.#store, new ConversationStorage(this.#storage)).start()
    this.#reopen()
    this.#store.onChange((state, before) => {
      if (state.currentId !== before.currentId) {
        this.#announcer.forget()
        this.#openChat.remember(state.currentId)
      }
      // The first text or a failure says more about the state of a model than the last list did, so ask for a new one.
      else if (countWaiting(state) < countWaiting(before)) this.#watch.refresh()
      this.#drawSoon()
    })
    // When a page is left, the browser closes its connections, some of them before `pagehide`. The user caused that, so
    // it must not be stored as a failure.
    for (const leaving of ['beforeunload', 'pagehide']) addEventListener(leaving, () => this.#session.stopAll())
    addEventListener('storage', ({ key }) => {
      // Another tab has changed or forgotten the key.
      if (key === API_KEY_ITEM) this.#leaveKey(() => this.#gate.cancel())
    })
    this.#scroll.start()
    this.#watch.start()
    this.#draw()
    this.#composer.focusUnlessTouch()
  }

  #ask(question: Question): boolean {
    const model = this.#picked()
    if (model === undefined || !this.#session.ask(question, model)) return false
    this.#asked(model.id)
    return true
  }

  #retry(): void {
    const conversation = currentConversation(this.#store.state)
    const model = this.#picked()
    if (model === undefined) this.#keyForm.focus()
    if (conversation === undefined || model === undefined) return
    this.#session.retry(conversation.id, model)
    this.#asked(model.id)
  }

  #asked(model: string): void {
    this.#pick.decide(model)
    this.#change({ model })
    // Drawn at once and not in the next frame, so that pressing Enter has a visible effect immediately.
    this.#draw()
    this.#scroll.toEnd()
    this.#watch.refresh()
  }

  /** Shows the version of a message that is before or after it. */
  #branch(messageId: string, step: BranchStep): void {
    const conversation = currentConversation(this.#store.state)
    const message = conversation?.messages.find(({ id }) => id === messageId)
    if (conversation === undefined || message === undefined) return
    const siblings = siblingsOf(conversation.messages, message)
    const next = siblings[siblings.indexOf(message) + step]
    if (next === undefined) return
    this.#scroll.stay()
    this.#store.dispatch({ type: 'branched', conversationId: conversation.id, messageId: next.id })
    this.#draw()
    this.#messages.focusStep(next.id, step)
  }

  #stop(): void {
    const { currentId } = this.#store.state
    if (currentId !== null) this.#session.stop(currentId)
  }

  #open(conversationId: string | null): void {
    this.#store.dispatch({ type: 'selected', conversationId })
    this.#suggestModel()
    this.#draw()
    this.#scroll.toEnd()
    this.#composer.focusUnlessTouch()
  }

  /** The chat of the last visit is open again, unless that one ended with a new chat. */
  #reopen(): void {
    this.#store.dispatch({ type: 'selected', conversationId: this.#openChat.last })
    this.#suggestModel()
  }

  #suggestModel(): void {
    const conversation = currentConversation(this.#store.state)
    if (conversation !== undefined) this.#pick.suggest(conversation.model)
  }

  #choose(model: string): void {
    this.#pick.decide(model)
    this.#change({ model })
    this.#composer.focusUnlessTouch()
  }

  #change(changed: Partial<Settings>): void {
    this.#settings = { ...this.#settings, ...changed }
    saveSettings(this.#storage, this.#settings)
    this.#drawSoon()
  }

  #enterKey(text: string, keeping: KeyKeeping): boolean {
    const entered = this.#gate.enter(text, keeping)
    if (entered) this.#watch.refresh()
    this.#draw()
    return entered
  }

  #changeKey(): void {
    this.#gate.change()
    this.#draw()
  }

  #leaveKey(leave: () => void): void {
    leave()
    this.#watch.refresh()
    this.#draw()
  }

  #entry(id: string): ModelEntry | undefined {
    return this.#watch.directory.models.find((model) => model.id === id)
  }

  #picked(): (ModelEntry & AskedModel) | undefined {
    return this.#pick.current(this.#watch.directory.models)
  }

  #drawSoon(): void {
    if (this.#drawing) return
    this.#drawing = true
    requestAnimationFrame(() => {
      this.#drawing = false
      this.#draw()
    })
  }

  #draw(): void {
    const { state } = this.#store
    const { directory } = this.#watch
    const conversation = currentConversation(state)
    const picked = this.#picked()
    const running = this.#session.isRunning(conversation)
    const observe = (model: string) => ({ entry: this.#entry(model), observedAt: directory.observedAt })
    this.#messages.update(conversation, observe, Date.now())
    this.#welcome.update(conversation === undefined, directory, picked, this.#key.value !== undefined)
    this.#picker.update(directory, picked?.id ?? '')
    const form = this.#gate.form(directory)
    const hidden = form.visible && !running
    this.#composer.update({
      running,
      ready: picked !== undefined,
      model: picked?.id ?? '',
      canSee: picked !== undefined && canDo(picked, 'Vision'),
      transcriber: directory.models.find((model) => canDo(model, 'SpeechToText') && !isBroken(model))?.id,
      hidden,
    })
    if (this.#keyForm.update(form, this.#key)) this.#composer.focusUnlessTouch()
    this.#sidebar.update(state)
    const last = conversation?.messages.find(({ id }) => id === conversation.leafId)
    const answer = last?.role === 'assistant' ? last : undefined
    this.#announcer.update(answer)
    this.#tickWhile(answer)
    document.title = conversation === undefined ? 'Sluice' : `${conversation.title} · Sluice`
  }

  /** Redraws every second while an answer is awaited, so that its seconds go on counting. */
  #tickWhile(answer: AssistantMessage | undefined): void {
    if (answer?.status === 'waiting') {
      this.#ticker ??= setInterval(() => this.#drawSoon(), TICK_MS)
    } else {
      clearInterval(this.#ticker)
      this.#ticker = undefined
    }
  }
}

function countWaiting({ conversations }: ChatState): number {
  const isWaiting = (message: Message) => message.role === 'assistant' && message.status === 'waiting'
  return conversations.filter(({ messages }) => messages.some(isWaiting)).length
}
