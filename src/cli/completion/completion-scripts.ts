export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/**
 * What a shell reads to complete the words of `sluice`. All of them ask the program itself, so that models are those
 * that there are; where it offers nothing, they offer files.
 */
export const completionScripts: Record<Shell, string> = {
  bash: `# Completion of sluice for bash. For this shell: source <(sluice completion bash)
_sluice() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _sluice sluice
`,
  zsh: `#compdef sluice
# Completion of sluice for zsh. For this shell: source <(sluice completion zsh)
_sluice() {
  local -a offered
  offered=(\${(f)"$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( \${#offered} )); then compadd -- "\${offered[@]}"; else _files; fi
}
compdef _sluice sluice
`,
  fish: `# Completion of sluice for fish. For this shell: sluice completion fish | source
complete -c sluice -a '(set -l typed (commandline -opc); $typed[1] __complete -- $typed[2..-1] (commandline -ct) 2>/dev/null)'
`,
}
