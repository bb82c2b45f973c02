import js from '@eslint/js'
import { defineConfig } from 'eslint/config'
import jsxA11y from 'eslint-plugin-jsx-a11y'
import reactHooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

export default defineConfig({ ignores: ['dist', 'public', 'generated'] }, js.configs.recommended, {
  files: ['**/*.ts', '**/*.tsx'],
  extends: [
    tseslint.configs.strictTypeChecked,
    reactHooks.configs.flat.recommended,
    jsxA11y.flatConfigs.strict,
  ],
  languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
  rules: {
    eqeqeq: ['error', 'always', { null: 'ignore' }],
    'no-console': 'error',
    'no-restricted-globals': [
      'error',
      { name: 'fetch', message: 'Use api or subscribe of @/api: they use the session.' },
      { name: 'sessionStorage', message: 'The browser stores only the theme.' },
      { name: 'localStorage', message: 'The browser stores only the theme.' },
    ],
    'no-restricted-properties': [
      'error',
      {
        object: 'crypto',
        property: 'randomUUID',
        message: 'It does not exist over plain HTTP: use uuid of @/api/uuid.',
      },
      { object: 'crypto', property: 'subtle', message: 'It does not exist over plain HTTP.' },
    ],
    'no-restricted-syntax': [
      'error',
      { selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'Render text only as text.' },
    ],
    '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    '@typescript-eslint/consistent-type-imports': 'error',
    // Strings are counted in code points.
    '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
  },
})
