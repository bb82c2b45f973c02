// The design system. Chart is a separate module (`@/ui/Chart`), because it includes uPlot.
export { Badge, Dot } from './Badge'
export { Button, ButtonLink, IconButton } from './Button'
export { CodeBlock, Copyable, CopyButton, copyText, Secret } from './Copy'
export { Confirm, Dialog, PhraseField, type ConfirmProps } from './Dialog'
export { ErrorNotice, explain, fieldError } from './ErrorNotice'
export { Checkbox, Field, Group, Input, SearchInput, Segmented, Select, Textarea } from './Field'
export {
  ago,
  bytes,
  clock,
  compact,
  cx,
  day,
  duration,
  num,
  plural,
  shellWord,
  shortId,
  stamp,
  visible,
} from './format'
export { Menu, MenuItem, MenuLabel, MenuSeparator } from './Menu'
export { Empty, Loading, Notice, Skeleton } from './Notice'
export { Page, Panel } from './Page'
export { MoreButton, Pager } from './Paging'
export { Sparkline } from './Sparkline'
export { Stat } from './Stat'
export type { Tone } from './tone'
export { Table, type Column } from './Table'
export { Tabs } from './Tabs'
export { ToastProvider, useToast, type Toasts } from './Toast'
export { Tooltip, TooltipProvider } from './Tooltip'
export { DebouncedSearch, useDebounced, useEditableValue } from './DebouncedSearch'
export { Bytes, Duration, Facts, Meter, Name, Num, Progress, Time, useNow } from './Values'
