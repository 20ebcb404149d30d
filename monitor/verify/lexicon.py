"""The words of official documents that mean the same, or the opposite, in Chinese and English.

Each line of the tables is `name: Chinese words | English words`. A name of two parts, `direction.up`, is one side of an
axis: a statement that is on the other side than its page says the opposite. A line of `_SAME` is a plain concept: its words
count as one when texts are compared, in either language.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from snowballstemmer import stemmer  # type: ignore[import-untyped]

_OPPOSITE = """
direction.up: 上升 增长 提高 上调 增加 增多 扩大 上涨 攀升 回升 升至 增至 提升 走高 升高 抬高 涨至 涨幅扩大 走强 增设 提速 扩容 更高 更多 更快 更长 净流入 正增长 由降转涨 由跌转涨 涨 多增 连升 连涨 上扬 回暖 拉升 上浮 | rose =risen =rises rising increase grew grow growth =raise =raised =raises =raising climb gain =expanded =expand =expands =higher lengthen accelerate widen =up jump surge =longer =faster =more soar rally =widened =widens =widening
direction.down: 下降 减少 降低 下调 回落 下跌 收窄 缩小 放缓 降至 减至 削减 压减 下滑 调低 降幅扩大 走低 走弱 放慢 减缓 萎缩 减弱 更低 更少 更慢 更短 下行 缩减 调减 净流出 负增长 由涨转降 由升转降 由增转降 转降 跌 少增 降 连降 连跌 下挫 下浮 大跌 缩水 | fell =fall =falls =fallen =falling decrease =decline =declined =declines =declining drop =lower =lowered =lowers =lowering reduce reduction =cut =cuts =cutting shrink shrank shrunk narrow slow =slower =shorter =fewer =down =less =contracted =contracts contraction plunge tumble slump dip =shed =eased =narrowed =eases
length.more: 延长 推迟 延后 顺延 延期 展期 | extend extension prolong postpone delay defer lengthen
length.less: 缩短 提前 提早 | shorten advance
course.tighten: 收紧 从严 加强监管 强化监管 趋严 加严 更严 | tighten =stricter =tougher toughen
course.relax: 放宽 放松 松绑 简化 宽松 从宽 | relax loosen =easing =eased simplify simplification
founding.keep: 建立 设立 完善 健全 保留 恢复 继续 新设 成立 组建 维持 延续 启动 推行 开展 新增 | establish keep retain maintain continue introduce launch create resume restore preserve
founding.end: 取消 撤销 停止 终止 暂停 关闭 淘汰 停办 叫停 中止 解散 退出 停征 不再保留 不再 删除 取缔 停用 裁撤 下架 不再执行 | abolish scrap =ended cancel =stop =stopped =stops terminate suspend discontinue =closes cease withdraw dissolve halt eliminate =removed =removes removal delete
validity.valid: 继续有效 仍然有效 仍有效 继续执行 继续适用 沿用 | remain_in_force still_valid still_apply continue_to_apply remain_valid stay_in_force
validity.void: 废止 失效 停止执行 不再执行 作废 不再适用 废除 停止施行 取代 | repeal revoke expire expiry lapse supersede rescind annul replace no_longer_apply
permission.allowed: 可以 允许 准许 得以 可 准予 能够 | may =can allow permit permission =able entitle =free_to
permission.forbidden: 不得 禁止 严禁 不允许 不准 不可 不能 不许 一律不得 | prohibit =ban =banned =bans =banning forbid forbidden cannot must_not may_not prohibition disallow outlaw
burden.free: 免征 豁免 免除 免于 免收 不征 减免 免予 免缴 免税 免费 无须 无需 不必 不需 不用 毋须 | exempt exemption waive waiver relieve need_not
burden.charged: 征收 计征 收取 加征 须缴 应缴 | =levied =levy impose
answer.yes: 批准 同意 核准 采纳 认可 支持 获准 准许 予以认定 胜诉 | approve approval =granted =grant =accepted =accept =accepts uphold endorse =backed =supports =supported =confirmed =authorise =authorised =authorize =authorized =agree =agreed =agrees
answer.no: 驳回 否决 拒绝 不予 反对 不同意 未采纳 推翻 败诉 未获批准 否认 | reject dismiss refuse deny oppose =declined overturn quash rebut =disputes =disputed
office.in: 任命 聘任 出任 担任 就任 当选 接任 履新 升任 提名 续聘 | appoint appointment nominate elect succeed
office.out: 免去 解聘 卸任 离任 辞去 免职 不再担任 罢免 退休 辞职 | resign =dismissed =retire =retired =retires =departs =departed outgoing step_down
bound.max: 不超过 不高于 至多 最多 最高不超过 最高 上限 以内 以下 不得超过 不得高于 不大于 不多于 封顶 少于 不足 低于 未超过 之内 小于 不到 不满 将近 接近 多达 最迟 至迟 不晚于 不迟于 | up_to at_most no_more_than not_more_than not_exceed no_later_than =maximum less_than =below =cap =capped =ceiling no_higher_than fewer_than not_exceeding no_longer_than nearly almost as_many_as no_greater_than at_the_latest
bound.min: 不低于 不少于 至少 最低 下限 以上 不得低于 不得少于 不小于 超过 高于 逾 超 多于 大于 不早于 不小于 | at_least no_less_than not_less_than =minimum more_than exceed =floor no_fewer_than =exceeding no_lower_than greater_than no_earlier_than no_sooner_than
duty.must: 应当 必须 须 应 务必 一律 强制 有义务 责令 不得不 需 需要 强制性 | must =shall require requirement mandatory oblige obligation have_to has_to compulsory
duty.may: 可以 可 鼓励 自愿 自主 倡导 酌情 可自行 可选择 推荐 自行决定 建议性 | may =can voluntary voluntarily encourage optional discretion choose_to recommend advisable
quantity.all: 全部 所有 一律 均 全体 每个 每家 每名 各类 都 任何 全面 凡 悉数 全国范围 各地均 一概 逐一 一致 全数 全额 百分之百 完全 每一 每位 无一例外 各地 | =all =every =each =any entire =whole entirely =fully wholly =both nationwide unanimously =always =everyone in_full in_its_entirety completely everyone everybody
quantity.some: 部分 有的 一些 少数 个别 若干 某些 试点 局部 有些 一部分 多数 大多 大部分 大都 大多数 几乎 多位 几家 试点地区 | =some several =part =partly partially certain =few =many =most majority mostly largely selected in_part virtually primarily
only.only: 仅 只 唯一 只有 仅限 独家 唯有 只能 仅仅 仅有 只限 单单 | =only solely exclusively =sole merely
extreme.most: 最大 最高 最快 最多 首位 居首 最强 最长 最早 最重 | highest largest biggest fastest =most greatest longest strongest steepest
extreme.least: 最小 最低 最慢 最少 末位 垫底 最弱 最短 最晚 最轻 | lowest smallest slowest =least weakest shortest
order.before: 之前 以前 早于 事前 先于 | =before prior
order.after: 之后 以后 晚于 事后 | =after subsequently
trade.in: 进口 入境 买入 收购 购买 净买入 | =import =imports =imported =importing =buy =bought =buys purchase acquire
trade.out: 出口 出境 卖出 出售 转让 净卖出 | =export =exports =exported =exporting =sell =sold =sells =sale divest
place.home: 境内 国内 内资 城镇 城市 | domestic onshore =urban
place.abroad: 境外 国外 外资 海外 农村 | foreign overseas offshore =rural
rate.year: 同比 比上年同期 较上年同期 | year_on_year from_a_year_earlier on_the_year than_a_year_earlier
rate.month: 环比 比上月 较上月 比上季 | month_on_month quarter_on_quarter on_the_month from_the_previous_month on_the_quarter
side.claimant: 原告 申请人 上诉人 | claimant plaintiff applicant appellant
side.defendant: 被告 被申请人 被上诉人 | defendant respondent
sign.gain: 盈利 顺差 盈余 | =profit =surplus
sign.loss: 亏损 逆差 赤字 | =loss =losses =deficit
truth.so: 属实 真实 | =true
truth.not: 不实 虚假 失实 | =false unfounded untrue
finality.final: 正式 最终 终审 终局 定稿 | =final definitive =finalised =finalized
finality.first: 初步 临时 暂行 试行 草案 征求意见稿 一审 | provisional preliminary interim =draft proposed tentative
time.work: 全职 专职 | full-time full_time
time.part: 兼职 | part-time part_time
"""

_stemmers = threading.local()  # Snowball keeps the word that it is at in the stemmer

_STAGE = """
stage.proposed: 拟 征求意见 草案 征求意见稿 送审稿 公开征求 意见稿 拟议 计划于 打算 酝酿 将 起草 正在 仍在 尚在 尚待 有待 未来 下一步 计划 审理中 进行中 争取 力争 准备 考虑 待 | propose proposal =draft =consulting =consults =consultation =would =will seek_views intend plan_to plans_to seek =considering =considers =considered =debating =pending =awaits =awaiting aim_to =planned =might =intends still_being under_review expected_to
stage.done: 已 正式施行 正式实施 印发 出台 已经 敲定 定稿 落地 建成 达成 签署 完成 结束 审结 办结 | =final =finalised =finalized =finalises =finalise =adopted =enacted in_force =already =took_effect has_taken_effect came_into_force entered_into_force =completed =concluded =confirmed has_been have_been =has
"""

_PLAIN = """
可能 可靠 可再生 可持续 可行 可控 可比 可见 可支配 许可证 许可 尽可能 应用 应对 供应 反应 相应 对应 效应 应急 应收 响应 适应 应付 应届 应该 应纳税 将军 即将到来 只是 不只 降水 降温 超市 超级 超导 超声 首都 成都 都市
以前年度 目前 前期 前景 前提 当前 前沿 前往 前置 之前 均衡 平均 均价 人均 已知 须知 少数民族 部分国家 内部 内容 内地 室内 车内 院内 场内 市内 起诉 发起 一起 引起 起草 兴起 起点 得到 取得 获得 所得 值得 使得 得分
要求 减税 减排 减灾 加强 增值税 增值 增加值 增速 增幅 增资 涨幅 跌幅 同比例 进口税 出口税 出口额 进口额 出口退税 进出口 有效期 有效性 有效果 取消资格 支持力 通过率 不断 不仅 不同 不少 不妨 不管 不论 不良 不动产 不锈
"""

_EVENTS = """
event.publish: 发布 印发 公布 刊发 颁布 下发 通报 公告 披露 宣布 | publish publication issue release announce announcement
event.effect: 施行 生效 实施 起执行 执行 起算 启用 适用 | effective force commence effect apply start enter
event.deadline: 截止 之前 以前 前 届满 截至 止 提交 反馈 报送 申报 | by deadline until close before submit comments end
event.adopt: 通过 审议 成文 签署 作出 | adopt sign made pass
"""

_ATTRIBUTION = """
report.say: 表示 指出 介绍 强调 透露 回应 坦言 提到 | say said =state =states =stated tell told =noted =notes add explain stress remark
report.think: 认为 预计 预期 有望 估计 判断 预测 担心 担忧 相信 主张 质疑 呼吁 希望 建议 指控 辩称 提出 声称 | think believe expect forecast predict estimate argue claim fear suggest allege allegation contend hope warn likely accuse complain urge
"""


@dataclass(frozen=True, slots=True)
class Concept:
    """What a word means: `name` for comparison; on an axis, `axis` and `side`."""

    name: str
    axis: str = ""
    side: str = ""


@dataclass(frozen=True)
class Lexicon:
    """Words to concepts: Chinese words by their first character, English phrases of stems by their first stem."""

    chinese: dict[str, list[tuple[str, tuple[Concept, ...]]]]
    english: dict[str, list[tuple[tuple[str, ...], tuple[Concept, ...]]]]
    exact: dict[str, tuple[Concept, ...]]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word, by Snowball's rules."""
    if not hasattr(_stemmers, "english"):
        _stemmers.english = stemmer("english")
    return str(_stemmers.english.stemWord(word))


@cache
def load_lexicon() -> Lexicon:
    chinese: dict[str, list[Concept]] = {}
    english: dict[tuple[str, ...], list[Concept]] = {}
    exact: dict[str, list[Concept]] = {}
    for name, zh, en in (*_iter_lines(), *_iter_contrasts()):
        axis, _, side = name.replace("<>", ".").partition(".")
        concept = Concept(name, axis, side) if side else Concept(name)
        for word in zh:
            chinese.setdefault(word, []).append(concept)
        for word in en:
            if word.startswith("="):
                exact.setdefault(word[1:], []).append(concept)
                continue
            found = english.setdefault(tuple(map(stem, word.split("_"))), [])
            if concept not in found:
                found.append(concept)
    for word in _PLAIN.split():
        chinese.setdefault(word, [])
    by_char: dict[str, list[tuple[str, tuple[Concept, ...]]]] = {}
    for word, concepts in sorted(chinese.items(), key=lambda entry: -len(entry[0])):
        by_char.setdefault(word[0], []).append((word, tuple(concepts)))
    by_stem: dict[str, list[tuple[tuple[str, ...], tuple[Concept, ...]]]] = {}
    for phrase, concepts in sorted(english.items(), key=lambda entry: -len(entry[0])):
        by_stem.setdefault(phrase[0], []).append((phrase, tuple(concepts)))
    return Lexicon(by_char, by_stem, {word: tuple(concepts) for word, concepts in exact.items()})


def _iter_lines() -> Iterator[tuple[str, list[str], list[str]]]:
    concepts = files("monitor.verify").joinpath("concepts.txt").read_text("utf-8")
    for table in (_OPPOSITE, _STAGE, _EVENTS, _ATTRIBUTION, concepts):
        for line in table.strip().splitlines():
            name, _, words = line.partition(":")
            zh, _, en = words.partition("|")
            if words and not line.startswith("#"):
                yield name.strip(), zh.split(), en.split()


def _iter_contrasts() -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the sides of the pairs of `opposites.txt`; their names have no dot, so that their words weigh in full."""
    table = files("monitor.verify").joinpath("opposites.txt").read_text("utf-8")
    for number, line in enumerate(table.splitlines()):
        if "<>" in line and not line.startswith("#"):
            for side, words in zip("ab", line.split("<>"), strict=True):
                zh, _, en = words.partition("|")
                yield f"contrast{number}<>{side}", zh.split(), en.split()
